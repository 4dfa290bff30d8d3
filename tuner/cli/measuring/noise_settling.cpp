#include "tuner/cli/measuring/noise_settling.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/noise/noise_floor.hpp"
#include "tuner/campaign/noise/noise_plan.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/noise/trial_method.hpp"
#include "tuner/campaign/paired_trials.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/preview/forecast.hpp"

namespace nocturne::cli {
namespace {

using Length = std::optional<std::chrono::nanoseconds>;

/// For fast workers: a standard deviation from so many pairs is known to a sixth.
constexpr int kMostRounds = 20;

/// The campaign that this session goes on with, where any of it was asked already: it compares as it began.
std::optional<db::CampaignSummary> begun_campaign(const db::Store& store, const tuner::CampaignSpec& spec) {
  auto known = store.find_campaign(spec.name);
  if (known && (known->identity != spec.identity() || known->trials == 0)) known.reset();
  return known;
}

void say_noise(const Context& context, const std::string& sentence) {
  *context.err << "Noise: " << sentence << ".\n" << std::flush;
}

tuner::NoisePlan plan_for(const tuner::CampaignSpec& spec, const tuner::Executor& executor,
                          const tuner::NoiseFloor& floor, const Length& length) {
  return tuner::plan_by_noise(floor, spec.verify,
                              {.fixed = tuner::fixed_by_file(spec.document),
                               .default_fits_half = tuner::default_fits_half(spec, executor.cpus().size()),
                               .length = length});
}

/// Compares as the plan says, and measures trials as the noise does. `turns`: a process can take turns with the
/// default.
void use_noise(const Context& context, tuner::CampaignSpec& spec, const tuner::NoisePlan& plan,
               const tuner::NoiseFloor& floor, bool turns) {
  tuner::apply_plan(plan, spec);
  say_noise(context, plan.sentence);
  const bool is_open = spec.run.method == tuner::TrialMethod::Auto;
  const auto choice =
      tuner::choose_trial_method(floor, is_open && !turns ? tuner::TrialMethod::Alone : spec.run.method);
  tuner::apply_choice(choice, spec);
  if (!choice.sentence.empty()) say_noise(context, choice.sentence);
}

void measure_noise_first(MeasurementContext& measuring, tuner::CampaignSpec& spec, tuner::Executor& executor,
                         const Length& length, bool turns) {
  const Context& context = measuring.context();
  say_noise(context, "not known of this machine: the default is measured against itself first, for up to 3 minutes");
  const auto began = measuring.clock().steady();
  if (length) measuring.interruption().prepare_until(began + *length);
  const auto floor = tuner::measure_noise({.spec = spec,
                                           .executor = executor,
                                           .clock = measuring.clock(),
                                           .interruption = measuring.interruption(),
                                           .time = tuner::kNoiseTime,
                                           .cpus = executor.cpus(),
                                           .most_rounds = kMostRounds,
                                           .waiting = [&context](const measure::SlotHolder& holder) {
                                             say_noise(context, "waiting: " + measure::describe(holder));
                                           }});
  auto& wall = spec.budget.wall;
  if (wall) *wall -= std::min(*wall, std::chrono::ceil<std::chrono::seconds>(measuring.clock().steady() - began));
  if (!floor) {
    say_noise(context, floor.error() + "; the campaign compares as usual");
    return;
  }
  if (measuring.interrupted()) return;  // a figure from half of the time is none
  tuner::store_noise(measuring.store(), spec, measuring.fingerprint(), *floor);
  use_noise(context, spec, plan_for(spec, executor, *floor, length), *floor, turns);
}

/// Nothing is known, and nothing is measured first: how it compares, and how more can be known.
void say_unknown(const Context& context, const tuner::CampaignSpec& spec) {
  const tuner::VerifySettings& verify = spec.verify;
  say_noise(
      context,
      fmt::format("how far equal runs differ here is not known, so the best is compared with the default in {} "
                  "to {} pairs of runs{}, and closer than {:g} % is the same; '{}' measures it in 3 minutes, once",
                  verify.pairs, verify.most_pairs, verify.most_pairs_given ? "" : ", or more where time is left",
                  verify.margin_percent,
                  tuner::command_text("noise", spec.file.empty() ? "FILE" : tuner::file_word(spec.file))));
}

}  // namespace

void add_no_noise(CLI::App& subcommand, bool& none) {
  subcommand.add_flag("--no-noise", none,
                      "Do not measure first what this machine can resolve, however long the campaign will be");
}

void settle_noise(MeasurementContext& measuring, tuner::CampaignSpec& spec, tuner::Executor& executor,
                  const NoiseChoice& choice) {
  const Context& context = measuring.context();
  const std::string no_turns = tuner::no_turns_because(spec, !choice.on_nodes);
  const bool turns = no_turns.empty();
  if (spec.run.method == tuner::TrialMethod::Paired && !turns) {
    say_noise(context, "trials are measured alone and not paired: " + no_turns);
    spec.run.method = tuner::TrialMethod::Alone;
  }
  if (!spec.worker.own.empty()) return;  // its pairs are timed as its template says
  const db::Store& store = measuring.store();
  const auto known = tuner::known_noise(store, spec, measuring.fingerprint());
  if (!known.set_aside.empty()) say_noise(context, known.set_aside);
  const auto length = tuner::planned_length(spec, &store, measuring.clock().wall());
  const auto begun = choice.fresh ? std::nullopt : begun_campaign(store, spec);
  if (begun) {
    tuner::keep_plan(begun->spec, spec);
    tuner::keep_trial_method(begun->spec, spec);
    if (known.floor) {
      const auto plan = plan_for(spec, executor, *known.floor, length);
      spec.run.process_sd = plan.process_sd > 0 ? plan.process_sd : spec.run.process_sd;
      spec.verify.known_costs = plan.verify.known_costs;
      if (const auto& row = tuner::choose_trial_method(*known.floor, spec.run.method); row.pair_sd > 0)
        spec.run.pair_sd = row.pair_sd;
    }
    return;
  }
  if (known.floor) {
    use_noise(context, spec, plan_for(spec, executor, *known.floor, length), *known.floor, turns);
    return;
  }
  // Who counts trials has not said how long; a forecast without any measured trial is no reason to spend minutes.
  const bool is_timed = spec.budget.wall || spec.budget.until;
  const bool is_long = is_timed && length && *length > tuner::kWatched;
  if (is_long && choice.may_measure) return measure_noise_first(measuring, spec, executor, length, turns);
  say_unknown(context, spec);
}

}  // namespace nocturne::cli
