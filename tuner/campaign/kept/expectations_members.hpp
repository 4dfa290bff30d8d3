#pragma once

/// The members of what `best` and `model` tell, for kept_document.hpp.

#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/kept/kept_document.hpp"
#include "tuner/campaign/learned_campaign.hpp"

namespace nocturne::tuner {

NOCTURNE_MEMBERS(search::model::Interval, lower, upper);
NOCTURNE_MEMBERS(search::model::LevelChange, parameter, level, trials, mean, interval, changed);
NOCTURNE_MEMBERS(search::model::ExpectedGain, trials, mean, lower, upper, confidence);
NOCTURNE_MEMBERS(NamedValue, parameter, value);
NOCTURNE_MEMBERS(OtherValue, value, change, measured, pairs, along);
NOCTURNE_MEMBERS(Matter, parameter, value, others);
NOCTURNE_MEMBERS(Matters, much, hardly, unsure, ruled_out, ruled_out_share);
NOCTURNE_MEMBERS(ValueOfContinuing, time, expected_gain);

}  // namespace nocturne::tuner
