#pragma once

/// Stored figures of a machine that were doubtful when they were measured (kernels/machine/plausibility.hpp), and what
/// measuring them again makes of them. Documents are those of kernels/machine/README.md, "JSON".

#include <expected>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/roofline/programs.hpp"

namespace nocturne::tuner {

/// Names of doubtful figures, each once: "fma_f32"; those, too, that were measured before doubts were noted (they have
/// no `tries`) and have an arithmetic peak of several threads hardly above that of one. Empty where `figures` is no
/// such document.
[[nodiscard]] std::vector<std::string> doubted_names(const nlohmann::json& figures);

/// `stored` with what was measured again. A rate is a maximum, so the higher one stays; `tries` are added. One that was
/// doubtful and comes again, within a tenth, is what the machine gives: its doubt becomes `confirmed`. Others keep
/// their doubt. Latencies stay as they are.
[[nodiscard]] nlohmann::json with_measured_again(nlohmann::json stored, const nlohmann::json& again);

/// What was just measured, its doubtful figures held against an earlier measurement of the same machine.
[[nodiscard]] nlohmann::json settled_by_earlier(nlohmann::json measured, const nlohmann::json& earlier);

/// Measures the doubtful ones alone, about two seconds each; `measuring` says where and how, but not for how long.
/// `stored` as it is where there is none. The error is a sentence.
[[nodiscard]] std::expected<nlohmann::json, std::string> measure_doubted(const nlohmann::json& stored,
                                                                         MachineMeasuring measuring,
                                                                         const std::stop_token& stop = {});

}  // namespace nocturne::tuner
