#pragma once

/// The members of what `best` and `model` tell, for kept_document.hpp.

#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/kept/kept_document.hpp"
#include "tuner/campaign/learned.hpp"

namespace nocturne::tuner {

template <>
struct Members<search::model::Interval> {
  static auto of(auto& it) {
    auto& [lower, upper] = it;
    return std::tie(lower, upper);
  }
};

template <>
struct Members<search::model::LevelChange> {
  static auto of(auto& it) {
    auto& [parameter, level, trials, mean, interval, changed] = it;
    return std::tie(parameter, level, trials, mean, interval, changed);
  }
};

template <>
struct Members<search::model::ExpectedGain> {
  static auto of(auto& it) {
    auto& [trials, mean, lower, upper, confidence] = it;
    return std::tie(trials, mean, lower, upper, confidence);
  }
};

template <>
struct Members<OtherValue> {
  static auto of(auto& it) {
    auto& [value, change, measured] = it;
    return std::tie(value, change, measured);
  }
};

template <>
struct Members<Matter> {
  static auto of(auto& it) {
    auto& [parameter, value, others] = it;
    return std::tie(parameter, value, others);
  }
};

template <>
struct Members<Matters::RuledOut> {
  static auto of(auto& it) {
    auto& [parameter, value] = it;
    return std::tie(parameter, value);
  }
};

template <>
struct Members<Matters> {
  static auto of(auto& it) {
    auto& [much, hardly, unsure, ruled_out, ruled_out_share] = it;
    return std::tie(much, hardly, unsure, ruled_out, ruled_out_share);
  }
};

template <>
struct Members<ValueOfContinuing> {
  static auto of(auto& it) {
    auto& [time, expected_gain] = it;
    return std::tie(time, expected_gain);
  }
};

}  // namespace nocturne::tuner
