#pragma once

/// The things of the database as JSON for `--json`; README.md of tuner/cli describes the keys.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/records.hpp"

namespace nocturne::cli {

[[nodiscard]] nlohmann::json campaign_row(const db::CampaignSummary& campaign);
/// The parts of a trial's time, in seconds.
[[nodiscard]] nlohmann::json parts_row(const space::Parts& parts);
[[nodiscard]] nlohmann::json trial_row(const db::StoredTrial& trial);
/// A run with phases, load and a summary of its samples; the samples themselves only where `samples` is set.
[[nodiscard]] nlohmann::json run_row(const db::StoredRun& run, bool samples);

/// Numbers of a campaign's trials by the identity of their configuration.
using TrialNumbers = std::map<std::string, std::int64_t, std::less<>>;
[[nodiscard]] TrialNumbers numbers_of(std::span<const db::StoredTrial> trials);
/// With its pairs and verdicts; a side that is no trial of `numbers` is null.
[[nodiscard]] nlohmann::json comparison_row(const db::StoredComparison& comparison, const TrialNumbers& numbers);
/// A line of a campaign's log.
[[nodiscard]] nlohmann::json event_row(const db::EventRecord& event);

/// "batch=128 precision=bf16 threads=2"
[[nodiscard]] std::string settings_line(const space::Configuration& configuration);
/// A JSON value for a table: texts without quotes.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

/// The domain of a stored parameter, as `space` says it: "one of g++, clang++-19", "1 to 8 in steps of 2".
[[nodiscard]] std::string domain_text(const nlohmann::json& domain);

struct SampleSummary {
  double median = 0, minimum = 0, maximum = 0;
  double spread = 0;  ///< interquartile range
};
/// The values need not be sorted. REQUIRES: not empty.
[[nodiscard]] SampleSummary summarise_samples(std::vector<double> values);

}  // namespace nocturne::cli
