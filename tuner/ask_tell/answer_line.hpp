#pragma once

/// What `nocturne tell` reads: a line of JSON for each answer.
///
///   {"number": 3, "value": 0.82}                       what was asked under that number
///   {"number": 3, "values": [0.82, 0.79, 0.85]}        measured several times: their mean counts, their scatter too
///   {"number": 4, "failed": "the kernel did not launch", "outcome": "crashed"}
///   {"configuration": {"tile": 16}, "value": 1.5}      measured without being asked

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"
#include "space/outcome.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// Exactly one of number and configuration; values exactly if the outcome is Ok.
struct AnswerLine {
  std::optional<std::int64_t> number;
  std::optional<space::Configuration> configuration;
  std::vector<double> values;
  space::Outcome outcome = space::Outcome::Ok;
  std::string reason;
};

/// The error is a sentence: which key, what was found there, what may stand there.
[[nodiscard]] std::expected<AnswerLine, std::string> answer_line_from_json(const nlohmann::json& document);
[[nodiscard]] std::expected<AnswerLine, std::string> answer_from_line(std::string_view line);

/// The configuration as the space has it: numbers of a real range are rounded to its decimals, whole ones too. The
/// error says all that is wrong.
[[nodiscard]] std::expected<space::Configuration, std::string> in_space(const space::Space& space,
                                                                        const space::Configuration& configuration);

}  // namespace nocturne::tuner
