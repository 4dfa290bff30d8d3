// `nocturne noise FILE`: a campaign's default against itself.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/run/slot.hpp"
#include "tuner/campaign/noise/noise_floor.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/executor/stray_runs.hpp"

namespace nocturne::cli {
namespace {

struct NoiseOptions {
  std::string file;
  std::string time = "3min";
};

constexpr std::array kDifferences = {1.0, 2.0, 5.0};  // per cent

std::string needed_text(const tuner::NoiseRow& row, double percent) {
  const auto pairs = measure::pairs_to_resolve(row.noise.sd, percent);
  if (!pairs) return "–";
  return fmt::format("{} ({:.0f} min)", *pairs, *pairs * row.seconds_a_pair / 60);
}

/// The way whose pairs tell most in the same time.
const tuner::NoiseRow& best_of(const tuner::NoiseFloor& floor) {
  return *std::ranges::min_element(
      floor.rows, {}, [](const tuner::NoiseRow& row) { return row.noise.sd * row.noise.sd * row.seconds_a_pair; });
}

void print_floor(const Context& context, const tuner::NoiseFloor& floor, int pairs) {
  std::ostream& out = *context.out;
  Table table({{"pairs are measured"},
               {"judged by"},
               {"pairs", Align::Right},
               {"sd of a pair", Align::Right},
               {"s a pair", Align::Right},
               {"to tell 1 %", Align::Right},
               {"2 %", Align::Right},
               {"5 %", Align::Right}});
  for (const tuner::NoiseRow& row : floor.rows) {
    table.add({Cell(std::string(measure::to_text(row.method))), Cell(std::string(measure::to_text(row.estimator))),
               Cell(std::to_string(row.noise.pairs)), Cell(fmt::format("{:.1f} %", 100 * row.noise.sd)),
               Cell(fmt::format("{:.1f}", row.seconds_a_pair)), Cell(needed_text(row, kDifferences[0])),
               Cell(needed_text(row, kDifferences[1])), Cell(needed_text(row, kDifferences[2]))});
  }
  table.print(context);
  for (const std::string& sentence : floor.left_out) out << sentence << '\n';
  for (const tuner::NoiseRow& row : floor.rows) {
    if (row.estimator != tuner::StepEstimator::Paired) continue;
    out << fmt::format(
        "As campaigns compare (slices, paired), this machine resolves {:.1f} % in {} pairs; 1 % would cost {}.\n",
        measure::resolution_percent(row.noise.sd, pairs), pairs, needed_text(row, 1));
  }
  const tuner::NoiseRow& best = best_of(floor);
  out << fmt::format("Most is learnt in the same time from {} pairs, judged by the {}.\n",
                     measure::to_text(best.method), measure::to_text(best.estimator));
}

nlohmann::json floor_json(const tuner::NoiseFloor& floor, int pairs) {
  nlohmann::json rows = nlohmann::json::array();
  for (const tuner::NoiseRow& row : floor.rows) {
    nlohmann::json to_resolve = nlohmann::json::array();
    for (const double percent : kDifferences) {
      const auto needed = measure::pairs_to_resolve(row.noise.sd, percent);
      nlohmann::json each = {{"percent", percent}, {"pairs", nullptr}, {"minutes", nullptr}};
      if (needed) {
        each["pairs"] = *needed;
        each["minutes"] = *needed * row.seconds_a_pair / 60;
      }
      to_resolve.push_back(std::move(each));
    }
    rows.push_back({{"method", measure::to_text(row.method)},
                    {"estimator", measure::to_text(row.estimator)},
                    {"pairs", row.noise.pairs},
                    {"sd_percent", 100 * row.noise.sd},
                    {"bias_percent", 100 * row.noise.bias},
                    {"seconds_a_pair", row.seconds_a_pair},
                    {"resolution_percent", measure::resolution_percent(row.noise.sd, pairs)},
                    {"to_resolve", std::move(to_resolve)}});
  }
  return {{"rows", std::move(rows)}, {"left_out", floor.left_out}};
}

void setup(CLI::App& subcommand, NoiseOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The campaign file whose default is measured")->required();
  add_value(subcommand, "--time", options.time, "DURATION",
            "For all rounds; three are made in any case (default: 3min)", time_span());
  subcommand.footer(
      "Measures the default against itself, in pairs of fresh processes: one after the other, in alternation, and\n"
      "side by side on half of the CPUs each. The difference between equal programs is the noise of this machine.\n"
      "It decides how many pairs resolve 1, 2 or 5 % (two-sided 5 %, power 80 %). It is stored, and campaigns of\n"
      "the same network and data on this machine choose by it how they compare, until kernel, microcode, governor\n"
      "or the like change.\n"
      "\n"
      "Examples:\n"
      "  nocturne noise examples/mnist.json\n"
      "  nocturne noise campaign.json --time 20min --json\n");
}

/// Unavailable where the default does not train here.
ExitCode run(const NoiseOptions& options, Context& context) {
  const auto time = value_or_refuse(context, ExitCode::Usage, tuner::parse_duration(options.time), "--time: ");
  MeasurementContext measuring(context);
  const auto spec =
      value_or_refuse(context, tuner::load_campaign(options.file, measuring.facts(), &measuring.frameworks()));
  measuring.begin(context.database());
  tuner::remove_stray_runs(measuring.store(), context.runs_folder());
  const auto executor = measuring.make_executor(spec);
  const auto say_round = [&context](int round) {
    if (!context.json) *context.err << fmt::format("round {}\n", round + 1) << std::flush;
  };
  const auto say_waiting = [&context](const measure::SlotHolder& holder) {
    *context.err << fmt::format("Waiting: {}\n", measure::describe(holder)) << std::flush;
  };
  const auto floor = tuner::measure_noise({.spec = spec,
                                           .executor = *executor,
                                           .clock = measuring.clock(),
                                           .interruption = measuring.interruption(),
                                           .time = time,
                                           .cpus = measuring.machine().allowed_cpus,
                                           .progress = say_round,
                                           .waiting = say_waiting});
  if (!floor) refuse(context, ExitCode::Unavailable, floor.error());
  if (!measuring.interrupted())  // a figure from half of the time is none
    tuner::store_noise(measuring.store(), spec, measuring.fingerprint(), *floor);
  if (context.json)
    print_json(context, "noise", floor_json(*floor, spec.verify.pairs));
  else
    print_floor(context, *floor, spec.verify.pairs);
  return measuring.interrupted() ? measuring.interruption_code() : ExitCode::Ok;
}

}  // namespace

SubcommandAction add_noise(CLI::App& subcommand) {
  return add_options<NoiseOptions>(subcommand);
}

}  // namespace nocturne::cli
