#include "tuner/cli/measuring/noise_settling.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>
#include <variant>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tuner/campaign/noise/noise_floor.hpp"
#include "tuner/campaign/noise/noise_plan.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/preview/length.hpp"

namespace nocturne::cli {
namespace {

using Length = std::optional<std::chrono::nanoseconds>;

constexpr std::chrono::minutes kNoiseTime{3};
/// Of fast workers: a standard deviation from so many pairs is known to a sixth.
constexpr int kMostRounds = 20;

/// The campaign that this sitting goes on with, where any of it was asked already: it compares as it began.
db::Expected<std::optional<db::CampaignSummary>> begun_campaign(const NoiseWork& work) {
  if (work.fresh) return std::nullopt;
  auto known = work.store.find_campaign(work.spec.name);
  if (!known && known.error().code == db::ErrorCode::NotFound) return std::nullopt;
  if (!known) return std::unexpected(known.error());
  if (known->identity != work.spec.identity() || known->trials == 0) return std::nullopt;
  return std::move(*known);
}

bool default_fits_half_of(const NoiseWork& work) {
  const space::Configuration configuration = work.spec.space.default_configuration();
  const space::Value* threads = configuration.find("threads");
  const auto* count = threads != nullptr ? std::get_if<std::int64_t>(threads) : nullptr;
  return count != nullptr && *count <= static_cast<std::int64_t>(work.executor.cpus().size() / 2);
}

void say_noise(const NoiseWork& work, const std::string& sentence) {
  *work.context.err << "Noise: " << sentence << ".\n" << std::flush;
}

tuner::NoisePlan plan_for(const NoiseWork& work, const tuner::NoiseFloor& floor, const Length& length) {
  return tuner::plan_by_noise(floor, work.spec.verify, work.spec.run.repeats,
                              {.fixed = tuner::fixed_by_file(work.spec.document),
                               .default_fits_half = default_fits_half_of(work),
                               .length = length});
}

void use_noise(const NoiseWork& work, const tuner::NoiseFloor& floor, const Length& length) {
  const tuner::NoisePlan plan = plan_for(work, floor, length);
  tuner::apply_plan(plan, work.spec);
  say_noise(work, plan.sentence);
}

db::Expected<void> measure_noise_first(const NoiseWork& work, const Length& length) {
  say_noise(work, "not known of this machine: the default is measured against itself first, for up to 3 minutes");
  const auto began = work.clock.steady();
  const auto floor = tuner::measure_noise({.spec = work.spec,
                                           .executor = work.executor,
                                           .clock = work.clock,
                                           .interruption = work.interruption,
                                           .time = kNoiseTime,
                                           .cpus = work.executor.cpus(),
                                           .most_rounds = kMostRounds,
                                           .waiting = [&work](const measure::SlotHolder& holder) {
                                             say_noise(work, "waiting: " + measure::describe(holder));
                                           }});
  auto& wall = work.spec.budget.wall;
  if (wall) *wall -= std::min(*wall, std::chrono::ceil<std::chrono::seconds>(work.clock.steady() - began));
  if (!floor) {
    say_noise(work, floor.error() + "; the campaign compares as usual");
    return {};
  }
  if (work.interruption.requested()) return {};  // a figure from half of the time is none
  if (auto stored = tuner::store_noise(work.store, work.spec, work.fingerprint, *floor); !stored) return stored;
  use_noise(work, *floor, length);
  return {};
}

}  // namespace

void add_no_noise(CLI::App& verb, bool& none) {
  verb.add_flag("--no-noise", none,
                "Do not measure first what this machine can tell apart, however long the campaign will be");
}

db::Expected<void> settle_noise(const NoiseWork& work) {
  if (!work.spec.worker.own.empty()) return {};  // its pairs are timed as its template says
  const auto known = tuner::known_noise(work.store, work.spec, work.fingerprint);
  if (!known) return std::unexpected(known.error());
  if (!known->set_aside.empty()) say_noise(work, known->set_aside);
  const auto length = tuner::planned_length(work.spec, work.store, work.clock.wall());
  if (!length) return std::unexpected(length.error());
  const auto begun = begun_campaign(work);
  if (!begun) return std::unexpected(begun.error());
  if (*begun) {
    tuner::keep_plan((*begun)->spec, work.spec);
    if (known->floor) {
      const auto plan = plan_for(work, *known->floor, *length);
      work.spec.run.process_luck = plan.process_luck > 0 ? plan.process_luck : work.spec.run.process_luck;
      work.spec.verify.known_costs = plan.verify.known_costs;
    }
    return {};
  }
  if (known->floor) {
    use_noise(work, *known->floor, *length);
    return {};
  }
  // Who counts trials has not said how long; a forecast without any measured trial is no reason to spend minutes.
  const bool is_timed = work.spec.budget.wall || work.spec.budget.until;
  const bool is_long = is_timed && *length && **length > tuner::kWatched;
  if (is_long && work.may_measure) return measure_noise_first(work, *length);
  const tuner::VerifySettings& verify = work.spec.verify;
  say_noise(
      work,
      fmt::format("how far equal runs differ here is not known, so the best is compared with the default in {} to {} "
                  "pairs of runs, and closer than {:g} % is the same; "
                  "'{}' measures it in 3 minutes, once",
                  verify.pairs, verify.most_pairs, verify.margin_percent,
                  tuner::command_text("noise", work.spec.file.empty() ? "FILE" : tuner::file_word(work.spec.file))));
  return {};
}

}  // namespace nocturne::cli
