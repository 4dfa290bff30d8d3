#pragma once

/// The page a campaign ends with: the best configuration, its gain over the default with an interval, what was tried
/// and what failed. `tune` and `best` print the same.

#include <string>

#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// About one screen, on context.out.
void print_answer(const Context& context, const tuner::Answer& answer);

/// The same for machines; README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json answer_json(const tuner::Answer& answer);

/// "1.9 epochs (1.7 to 2.2) in 23 s (20 s to 27 s); one training in 18 s to 31 s"
[[nodiscard]] std::string target_text(const tuner::TargetAnswer::Side& side);
/// null: it did not train, or nothing is known of the target.
[[nodiscard]] nlohmann::json target_side_json(const std::optional<tuner::TargetAnswer::Side>& side);

/// What all times and intervals of such a page are of, said once: "times of 12 epochs, 95 % intervals".
[[nodiscard]] std::string page_scope(const tuner::Answer& answer);

/// One sentence on the gain: "2.04 times as fast as the default (+104 %, +101 to +107 %, 6 pairs of fresh processes)",
/// or why there is none.
[[nodiscard]] std::string gain_sentence(const tuner::Answer& answer);

/// "faster in your own pairs: +5.9 % (+2.2 to +9.8 %), 16 pairs": what `compare --measure` said of best and default.
/// REQUIRES: answer.compared.
[[nodiscard]] std::string compared_sentence(const tuner::Answer& answer);

/// "0.39 points higher than the default (0.03 to 0.75)"; an interval with both signs names them, the worse end first:
/// "0.10 points lower than the default (0.40 lower to 0.20 higher)". Arguments: points (percent of the images) lower
/// than the default, with the ends of their interval; negative: higher.
[[nodiscard]] std::string accuracy_change(double lower, double at_least, double at_most);

/// "Tried     449 configurations: 358 ok, 91 unsupported", the first reasons with their trials, and the command that
/// lists all of them.
void print_failures(const Context& context, const tuner::Answer& answer);

}  // namespace nocturne::cli
