// `nocturne replay SPACE…`: strategies judged on spaces that others have measured.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "search/replay/load.hpp"
#include "search/replay/replay.hpp"
#include "search/replay/scoreboard.hpp"
#include "search/replay/slots.hpp"
#include "search/replay/space_folder.hpp"
#include "tuner/campaign/recorded_campaign.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/replay_page.hpp"
#include "tuner/exchange/optuna_storage.hpp"

namespace nocturne::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> spaces;
  std::vector<std::string> strategies = {"auto", "random"};
  std::size_t evaluations = 200;
  std::size_t repeats = 20;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one a core
  double noise = 0;
  double outliers = 0;
  double failures = 0;
  std::size_t dummies = 0;
  std::vector<std::size_t> slots = {1};  ///< evaluations under way at once; several: compared
  std::size_t cap = 1000;                ///< evaluations that the score looks at
  bool calibration = false;              ///< check what auto predicts
  std::string trace;                     ///< file, or empty
  std::string save;                      ///< folder to write the spaces to, instead of replaying; or empty
  std::vector<std::string> history;      ///< databases and recorded spaces
  std::size_t history_trials = 100;      ///< trials taken from each recorded space
  std::string campaign;                  ///< campaign to read in databases among the spaces; empty: the one opened last
};

namespace replay = search::replay;

std::optional<std::string> objection(const ReplayOptions& options) {
  const auto is_probability = [](double number) { return number >= 0 && number <= 1; };
  if (options.evaluations == 0) return "--evaluations must be at least 1";
  if (options.repeats == 0) return "--repeats must be at least 1";
  if (options.history_trials == 0) return "--history-trials must be at least 1";
  if (options.cap == 0) return "--cap must be at least 1";
  if (std::ranges::find(options.slots, 0U) != options.slots.end()) return "--slots must be at least 1";
  if (options.slots.size() > 1 && (options.calibration || !options.trace.empty()))
    return "--calibration and --trace are of one number of slots";
  if (!(options.noise >= 0) || !std::isfinite(options.noise)) return "--noise must not be negative";
  if (!is_probability(options.outliers)) return "--outliers is a probability, 0 to 1";
  if (!is_probability(options.failures)) return "--failures is a probability, 0 to 1";
  if (!options.save.empty() && options.dummies > 0) return "--save writes what was recorded, without --dummies";
  if (options.dummies > replay::RecordedSpace::kMaxDummies)
    return fmt::format("--dummies must be at most {}", replay::RecordedSpace::kMaxDummies);
  if (options.calibration && std::ranges::find(options.strategies, "auto") == options.strategies.end())
    return "--calibration needs --strategy auto: no other strategy predicts anything";
  return std::nullopt;
}

using Spaces = std::vector<replay::RecordedSpace>;

/// A campaign of ours, or a study of Optuna.
std::expected<replay::RecordedSpace, std::string> recorded_in_database(const std::filesystem::path& path,
                                                                       const std::string& name) {
  if (tuner::holds_studies(path)) return tuner::recorded_study(path, name);
  const auto found = tuner::find_file_campaign(path, name);
  if (!found) return std::unexpected(found.error());
  auto recorded = tuner::recorded_campaign(found->store, found->campaign);
  if (!recorded) return std::unexpected(fmt::format("{}: {}", path.string(), recorded.error()));
  return recorded;
}

/// Databases are of this program or of Optuna, all else of search/replay; no name stands for two spaces.
std::expected<Spaces, std::string> load_all(const ReplayOptions& options) {
  Spaces spaces;
  std::vector<std::filesystem::path> files;
  for (const auto& path : options.spaces) {
    if (!tuner::is_database(path)) {
      files.emplace_back(path);
      continue;
    }
    auto campaign = recorded_in_database(path, options.campaign);
    if (!campaign) return std::unexpected(campaign.error());
    spaces.push_back(*std::move(campaign));
  }
  auto loaded = replay::load(files);
  if (!loaded) return loaded;
  std::ranges::move(*loaded, std::back_inserter(spaces));
  std::set<std::string> names;
  for (auto& each : spaces) {
    if (!names.insert(each.name()).second)
      return std::unexpected(fmt::format("two of the spaces have the name '{}'", each.name()));
    if (options.dummies == 0) continue;
    auto wider = each.with_dummies(options.dummies);
    if (!wider) return std::unexpected(fmt::format("{}: {}", each.name(), wider.error()));
    each = *std::move(wider);
  }
  return spaces;
}

/// A folder each, named after the space, in the format of published spaces.
std::expected<void, std::string> save(const Spaces& spaces, const std::filesystem::path& folder) {
  for (const auto& each : spaces)
    if (auto saved = replay::save_space_folder(each, folder); !saved) return saved;
  return {};
}

/// What --history names, and which of the spaces are campaigns of a database.
std::expected<tuner::ReplayHistory, std::string> load_history(const ReplayOptions& options) {
  tuner::ReplayHistory history(options.history_trials);
  std::vector<std::filesystem::path> files;
  for (const auto& path : options.history)
    if (!tuner::is_database(path))
      files.emplace_back(path);
    else if (auto added = history.add_database(path); !added)
      return std::unexpected(added.error());
  auto loaded = replay::load(files);
  if (!loaded) return std::unexpected(loaded.error());
  for (auto& each : *loaded) history.add_space(std::move(each));
  if (history.empty()) return history;
  for (const auto& path : options.spaces) {
    if (!tuner::is_database(path)) continue;
    if (auto known = history.is_campaign(path, options.campaign); !known) return std::unexpected(known.error());
  }
  return history;
}

/// One line that is rewritten on a terminal; every tenth elsewhere.
replay::Progress progress_on(const Context& context) {
  return [&context](std::size_t finished, std::size_t all) {
    const bool last = finished == all;
    if (context.err_is_terminal)
      *context.err << fmt::format("\r\x1b[K{} of {} runs{}", finished, all, last ? "\n" : "") << std::flush;
    else if (last || finished * 10 / all != (finished - 1) * 10 / all)
      *context.err << fmt::format("{} of {} runs\n", finished, all) << std::flush;
  };
}

constexpr std::string_view kExamples =
    "Examples:\n"
    "  nocturne replay spaces/                                  auto and random on every space of a folder\n"
    "  nocturne replay spaces/gemm spaces/conv --strategy auto,local --repeats 100\n"
    "  nocturne replay cache.json --strategy random --trace runs.jsonl --json\n"
    "  nocturne replay problem.json results.json                a T1 problem with its recorded T4 results\n"
    "  nocturne replay nocturne.db --campaign mnist-evening     a campaign of one's own\n"
    "  nocturne replay nocturne.db --save spaces                the same as a folder, to share it\n"
    "  nocturne replay spaces/gemm --noise 0.1 --failures 0.4   told wrongly, judged by the truth\n"
    "  nocturne replay spaces/ --strategy auto --calibration         are its intervals and its pruning right\n"
    "  nocturne replay spaces/ --strategy auto --slots 1,2,4,8       what are more nodes worth\n"
    "  nocturne replay spaces/gemm-a --history spaces/gemm-b    what is a campaign on another machine worth\n"
    "  nocturne replay spaces/gemm-a --history spaces/gemm-a    and an earlier one on this\n";

void setup(CLI::App& subcommand, ReplayOptions& options) {
  add_value(subcommand, "space", options.spaces, "SPACE",
            "Recorded spaces: a folder with space.json and results.csv.gz, a folder of such folders, a Kernel "
            "Tuner cache, T4 results, a T1 problem followed by its results, what hyperfine exports, a study of "
            "Optuna, or a database of nocturne")
      ->required();
  add_value(subcommand, "--strategy", options.strategies, "NAME,…",
            "Strategies, separated by commas (list strategies names them)")
      ->delimiter(',')
      ->capture_default_str();
  add_value(subcommand, "--evaluations", options.evaluations, "N", "Distinct configurations a run")
      ->capture_default_str();
  add_value(subcommand, "--repeats", options.repeats, "N", "Runs a space and strategy")->capture_default_str();
  add_value(subcommand, "--seed", options.seed, "N", "Seed of the first run; the next has one more")
      ->capture_default_str();
  add_value(subcommand, "--threads", options.threads, "N", "Runs at once (default: one a core); changes no result");
  add_value(subcommand, "--slots", options.slots, "N,…",
            "Evaluations under way at once, as on so many nodes; several numbers are compared: quality after as many "
            "evaluations, and how much sooner")
      ->delimiter(',');
  add_value(subcommand, "--cap", options.cap, "N", "The score looks at no more evaluations")->capture_default_str();
  add_value(subcommand, "--campaign", options.campaign, "NAME",
            "Which campaign or study of a database (default: the one opened last)");
  add_value(subcommand, "--history", options.history, "PATH",
            "What auto and model know before they begin: the finished campaigns of a database, or recorded "
            "spaces; without it, nothing. Other strategies ignore it");
  add_value(subcommand, "--history-trials", options.history_trials, "N",
            "How much of it is known. Recorded space: so many of its configurations, drawn anew for each run. "
            "The space that is replayed: so many trials of an earlier run of auto")
      ->capture_default_str();
  add_value(subcommand, "--noise", options.noise, "SD", "Tell values times exp(SD · z), z standard normal");
  add_value(subcommand, "--outliers", options.outliers, "P", "Tell ten times the value, with this probability");
  add_value(subcommand, "--failures", options.failures, "P", "Let configurations fail, with this probability");
  add_value(subcommand, "--dummies", options.dummies, "N", "Add so many parameters that do nothing");
  subcommand.add_flag("--calibration", options.calibration,
                      "Also check what auto predicts: do its 90 % intervals hold, was what it pruned worth pruning");
  add_value(subcommand, "--trace", options.trace, "FILE", "Write what each run found, one JSON line a run");
  add_value(subcommand, "--save", options.save, "FOLDER",
            "Only write the spaces as folders with space.json and results.csv.gz");
  subcommand.footer(std::string(kExamples));
}

/// Replays with each number of slots, and prints what that costs and saves.
ExitCode compare_slots(const ReplayOptions& options, replay::ReplayOptions chosen, const Spaces& spaces,
                       const Context& context) {
  std::vector<replay::SlotsRun> runs;
  for (const std::size_t slots : options.slots) {
    chosen.slots = slots;
    auto series = value_or_refuse(context, ExitCode::Usage, replay::replay(spaces, chosen, progress_on(context)));
    runs.push_back({.slots = slots, .series = std::move(series)});
  }
  const auto rows = replay::compare_slots(spaces, options.strategies.size(), options.evaluations, runs);
  if (context.json) {
    const auto row_json = [&](const replay::SlotsRow& row) -> nlohmann::json {
      return {{"strategy", options.strategies[row.strategy]},
              {"slots", row.slots},
              {"best_over_optimum", row.ratio},
              {"times_sooner", row.sooner},
              {"runs_close", row.close},
              {"runs", row.runs}};
    };
    print_json(context, "replay-slots",
               {{"evaluations", options.evaluations}, {"spaces", spaces.size()}, {"rows", json_list(rows, row_json)}});
    return ExitCode::Ok;
  }
  print_slots(
      context,
      {.strategies = options.strategies, .rows = rows, .evaluations = options.evaluations, .spaces = spaces.size()});
  return ExitCode::Ok;
}

/// Usage where a space cannot be understood or a strategy is unknown.
ExitCode run(const ReplayOptions& options, Context& context) {
  if (const auto sentence = objection(options)) return complain(context, ExitCode::Usage, *sentence);
  const auto spaces = value_or_refuse(context, ExitCode::Usage, load_all(options));
  for (const auto& each : spaces)
    for (const auto& note : each.notes()) *context.err << fmt::format("{}: {}\n", each.name(), note);
  if (!options.save.empty()) {
    value_or_refuse(context, ExitCode::Unavailable, save(spaces, options.save));
    return ExitCode::Ok;
  }
  const auto history = value_or_refuse(context, ExitCode::Usage, load_history(options));
  const replay::ReplayOptions chosen{
      .strategies = options.strategies,
      .evaluations = options.evaluations,
      .repeats = options.repeats,
      .seed = options.seed,
      .threads = options.threads,
      .slots = options.slots.front(),
      .disturbance = {.noise = options.noise, .outliers = options.outliers, .failures = options.failures},
      .history =
          history.empty() ? replay::HistoryOf() : [&](const auto& space, auto seed) { return history.of(space, seed); },
      .calibration = options.calibration};
  if (options.slots.size() > 1) return compare_slots(options, chosen, spaces, context);
  const auto series = value_or_refuse(context, ExitCode::Usage, replay::replay(spaces, chosen, progress_on(context)));
  if (!options.trace.empty()) {
    std::ofstream file(options.trace, std::ios::binary);
    file << replay::trace_lines(spaces, chosen, series);
    file.close();
    if (!file) return complain(context, ExitCode::Unavailable, fmt::format("{}: cannot be written", options.trace));
  }
  const auto board = replay::make_scoreboard(spaces, chosen, series, options.cap);
  const auto calibration = replay::make_calibration_table(chosen, series);
  const CalibrationPage calibration_page{.spaces = spaces, .options = chosen, .table = calibration};
  const ScoreboardPage page{.spaces = spaces, .options = chosen, .board = board, .dummies = options.dummies};
  if (context.json) {
    auto document = scoreboard_json(page);
    if (options.calibration) document["calibration"] = calibration_json(calibration_page);
    print_json(context, "replay", document);
  } else {
    print_scoreboard(context, page);
    if (options.calibration) print_calibration(context, calibration_page);
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_replay(CLI::App& subcommand) {
  return add_options<ReplayOptions>(subcommand);
}

}  // namespace nocturne::cli
