#include "tuner/campaign/answer/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <variant>

#include <fmt/format.h>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/roofline/programs.hpp"

namespace nocturne::tuner {
namespace {

/// The configuration's batch, else what the steps of an epoch say.
std::int64_t batch_trained(const space::Configuration& configuration, const space::Workload& workload,
                           double steps_per_epoch) {
  if (const auto batch = configuration.integer_of("batch").value_or(0); batch > 0) return batch;
  if (!(steps_per_epoch > 0)) return 1;
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(workload.training_examples) / steps_per_epoch));
}

}  // namespace

std::expected<PeakFigures, std::string> peaks_for(const db::Store& store, const space::Fingerprint& fingerprint,
                                                  const space::Workload& workload,
                                                  const std::filesystem::path& programs) {
  const auto figures = store.machine_figures(figures_key(fingerprint));
  if (!figures) {
    return std::unexpected(fmt::format(
        "what this machine could do at best is not known (or its kernel, microcode or clocks have changed since): "
        "'{}' measures it, on the machine itself",
        command_text({"machine", "--measure"})));
  }
  const auto known = store.network(workload.network);
  if (known) return PeakFigures::make(figures->figures, figures->fields, *known, workload.optimizer);
  const auto described = describe_network(workload.network, programs);
  if (!described) return std::unexpected(described.error());
  return PeakFigures::make(figures->figures, figures->fields, *described, workload.optimizer);
}

Roofline roofline_of(const db::Store& store, const db::CampaignSummary& campaign, const PeakFigures& peaks) {
  const auto trials = store.list_trials({.campaign = campaign.id, .outcome = space::Outcome::Ok});
  const auto answer = answer_of(store, campaign);
  const space::Workload workload = workload_of(campaign.spec);
  Roofline roofline{.rows = {}, .network = peaks.network.network, .operations_an_image = peaks.network.operations()};
  for (const db::StoredTrial& stored : trials) {
    const auto& parts = stored.trial.parts;
    if (!parts || !(parts->steady_step > 0)) continue;
    RooflineRow row{.trial = stored.trial.number,
                    .configuration = stored.trial.configuration,
                    .batch = batch_trained(stored.trial.configuration, workload, parts->steps_per_epoch),
                    .step_s = parts->steady_step};
    auto bound = peaks.bound(row.configuration, row.batch);
    if (const auto& estimate = stored.trial.estimate; estimate && estimate->value > 0)
      row.noise = std::max(kLeastNoise, 2 * estimate->standard_error / estimate->value);
    if (bound)
      row.bound = *std::move(bound);
    else
      row.without = bound.error();
    roofline.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(roofline.rows, std::ranges::greater(), &RooflineRow::images_a_second);
  if (answer.best) {
    const auto best = std::ranges::find(roofline.rows, answer.best->trial.number, &RooflineRow::trial);
    if (best != roofline.rows.end()) roofline.best = static_cast<std::size_t>(best - roofline.rows.begin());
  }
  return roofline;
}

std::string doubt_sentence(const Roofline& roofline) {
  const auto beaten = std::ranges::count_if(roofline.rows, &RooflineRow::beats_bound);
  if (beaten == 0) return {};
  double most = 0;
  for (const RooflineRow& row : roofline.rows)
    if (row.beats_bound()) most = std::max(most, row.share() - 1);
  return fmt::format(
      "{} of {} configurations (marked !) {} faster than the bound, by up to {:.0f} %, which no step can be: the "
      "machine's figures are too low, because it was busy when they were measured. '{}' "
      "measures them again. (Only convolutions that make fewer multiplications than counted, as Winograd's do, may "
      "beat a true bound.)",
      beaten, roofline.rows.size(), beaten == 1 ? "is" : "are", 100 * most, command_text({"machine", "--measure"}));
}

std::string best_sentence(const Roofline& roofline) {
  if (!roofline.best) return {};
  const RooflineRow& best = roofline.rows[*roofline.best];
  if (!best.bound) return {};
  const double share = best.share();
  if (best.beats_bound())
    return fmt::format("The best (trial {}) is faster than its bound ({:.0f} %).", best.trial, 100 * share);
  return fmt::format(
      "The best (trial {}) runs at {:.0f} % of what its cores could do in {}; at most {:.2f} x is left in its steps.",
      best.trial, 100 * share, best.configuration.text_of("precision", "f32"), std::max(1.0, 1 / share));
}

}  // namespace nocturne::tuner
