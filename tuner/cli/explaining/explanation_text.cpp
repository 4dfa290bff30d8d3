#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "search/model/prediction.hpp"
#include "search/model/pruning.hpp"
#include "tuner/cli/explaining/explanation.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/rows.hpp"

namespace nocturne::cli {
namespace {

using search::model::ratio_text;

std::string seconds_of(double log_seconds) {
  return seconds_text(std::exp(log_seconds));
}

void print_prediction(std::ostream& out, const tuner::Learned& learned, const Explanation& explanation) {
  out << fmt::format("predicted      {} for {:g} epochs, 90 % interval {} to {}", seconds_of(explanation.predicted),
                     learned.objective.primary, seconds_of(explanation.interval.lower),
                     seconds_of(explanation.interval.upper));
  if (explanation.best) out << fmt::format("; the best took {}", seconds_of(*explanation.best));
  out << '\n';
  for (std::size_t i = 0; i < explanation.horizons.size(); ++i) {
    if (explanation.horizons[i] == learned.objective.primary) continue;  // said above
    const auto& each = explanation.prediction[i];
    out << fmt::format("  {}: {}, {} to {}\n", search::model::epochs_text({&explanation.horizons[i], 1}),
                       seconds_of(each.log_mean), seconds_of(each.log_optimistic), seconds_of(each.log_pessimistic));
  }
  if (explanation.works < 0.95) {
    out << fmt::format("  works with a probability of {:.0f} %\n", 100 * explanation.works);
  }
}

void print_terms(std::ostream& out, const Explanation& explanation) {
  if (explanation.terms.empty()) return;
  out << "terms          against the best\n";
  for (const auto& term : explanation.terms) {
    out << fmt::format("  {}={} instead of {}: {}\n", term.parameter, term.value, term.against,
                       ratio_text(term.log_ratio));
  }
  out << fmt::format("  together, beyond these: {}\n", ratio_text(explanation.rest));
}

void print_published_result(std::ostream& out, const Explanation& explanation) {
  const auto where =
      explanation.horizons.empty() ? std::string() : " at " + search::model::epochs_text(explanation.horizons);
  if (!explanation.pruned_level.empty()) out << "pruned         " << explanation.pruned_level << '\n';
  if (!explanation.margin) return;
  if (*explanation.margin > 0) {
    out << fmt::format("pruned         at best {} (one in 100 000 is beyond) than the incumbent{}\n",
                       ratio_text(*explanation.margin), where);
  } else {
    out << fmt::format("not pruned     it may be {} than the incumbent (one in 100 000 is beyond)\n",
                       ratio_text(*explanation.margin));
  }
}

}  // namespace

void print_explanation(const Context& context, const tuner::Learned& learned, const Explanation& explanation) {
  std::ostream& out = *context.out;
  out << "configuration  " << one_line(settings_line(explanation.configuration)) << '\n';
  if (explanation.measured) {
    const auto& trial = *explanation.measured;
    out << fmt::format("measured       trial {}: {}\n", trial.number,
                       trial.estimate ? seconds_with_error(trial.estimate->value, trial.estimate->standard_error)
                                      : std::string(space::to_text(trial.outcome)) + ", " + one_line(trial.reason));
  }
  if (explanation.chosen) {
    const auto& chosen = *explanation.chosen;
    out << fmt::format("chosen         {}{}{}\n", space::to_text(chosen.purpose), chosen.reason.empty() ? "" : ": ",
                       one_line(chosen.reason));
  }
  print_prediction(out, learned, explanation);
  if (!explanation.memory.empty()) out << "memory         " << explanation.memory << '\n';
  if (!explanation.history.empty()) out << "history        " << explanation.history << '\n';
  print_terms(out, explanation);
  print_published_result(out, explanation);
  if (const auto& nearest = explanation.nearest) {
    std::string differs;
    for (const auto& name : nearest->differs) differs += (differs.empty() ? "" : ", ") + name;
    out << fmt::format("evidence       nearest is trial {}: {}, differs in {}\n", nearest->trial,
                       seconds_text(nearest->seconds), differs);
  }
  for (const std::string& each : learned.without) out << "note           " << each << '\n';
  if (!explanation.settle.empty()) out << "settle it      " << explanation.settle << '\n';
}

}  // namespace nocturne::cli
