#include "tuner/cli/subcommands/tune_command.hpp"

#include <chrono>
#include <filesystem>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "measure/run/launch.hpp"
#include "space/write_file.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/own_command/command_document.hpp"
#include "tuner/own_command/probe_run.hpp"
#include "tuner/own_command/step_lines.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;
using measure::Timing;

/// Where nobody says when to stop.
constexpr std::int64_t kUsualTrials = 40;

std::unexpected<ExitCode> refuse(const Context& context, const std::string& sentence, ExitCode code = ExitCode::Usage) {
  *context.err << "nocturne tune: " << sentence << '\n';
  return std::unexpected(code);
}

/// What a campaign of the database that tunes the same command was timed by.
struct KnownCampaign {
  nlohmann::json worker, run, workload;
};

std::optional<KnownCampaign> known_campaign(const Context& context, const nlohmann::json& document) {
  std::error_code ignored;
  if (!fs::exists(context.database(), ignored)) return std::nullopt;
  const auto store = db::Store::open(context.database(), db::Mode::ReadOnly);
  std::optional<KnownCampaign> known;
  for (const db::CampaignSummary& each : store.list_campaigns()) {
    if (each.name != document["campaign"].get<std::string>()) continue;
    const nlohmann::json worker = each.spec.value("worker", nlohmann::json::object());
    const auto same = [&](const char* key) {
      return worker.value(key, nlohmann::json()) == document["worker"].value(key, nlohmann::json());
    };
    if (!same("template") || !same("folder") || !worker.value("time", nlohmann::json()).is_string()) continue;
    known = KnownCampaign{.worker = worker, .run = each.spec.value("run", nlohmann::json()), .workload = {}};
  }
  return known;
}

std::expected<tuner::CampaignSpec, ExitCode> parsed(const Context& context, const nlohmann::json& document,
                                                    const fs::path& folder, const space::Facts& facts) {
  const std::string name = document["campaign"].get<std::string>() + ".json";
  auto spec = tuner::parse_campaign(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), name,
                                    folder, facts);
  if (spec) return *std::move(spec);
  *context.err << tuner::to_text(spec.error()) << '\n';
  return std::unexpected(ExitCode::Usage);
}

/// Where the output looks like steps: how they would be timed. Empty: it does not.
std::string pattern_advice(const Context& context, const tuner::CommandProbe& seen) {
  const auto steps = tuner::find_step_lines(seen.log_tail);
  if (!steps) return {};
  const std::string examples = steps->examples ? fmt::format(" --examples {}", *steps->examples) : "";
  return fmt::format(
      "Its output looks like steps: {}\n"
      "A trial takes a part of that time where they are timed instead:\n  nocturne tune --pattern {}{} -- {}\n",
      shortened(one_line(steps->line), 60), deploy::shell_quote(steps->pattern), examples,
      deploy::shell_command(context.command));
}

/// Runs the command once.
std::expected<tuner::CommandProbe, ExitCode> sight(const Context& context, const tuner::CampaignSpec& spec,
                                                   const tuner::Installation& installation) {
  if (const std::string missing = missing_supervisor(); !missing.empty()) {
    return refuse(context, missing, ExitCode::Unavailable);
  }
  if (const auto made = context.make_folders(); !made) return refuse(context, made.error(), ExitCode::Unavailable);
  *context.err << "Your command runs once as it is: does it work, does it report steps, how long does it take?\n";
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {.grace = {},
                                           .say = [](const std::string&) {},
                                           .log = context.data_folder() / "logs" / (spec.name + ".log"),
                                           .out_is_terminal = context.out_is_terminal,
                                           .err_is_terminal = context.err_is_terminal});
  const auto seen = tuner::sight_command(spec.worker.own, spec.space.default_configuration(), installation,
                                         {.runs_folder = context.runs_folder(), .database = context.database()},
                                         {.stop = interruption.token()});
  if (!seen) {
    if (seen.error().interrupted) return std::unexpected(signals.interruption_code());
    if (seen.error().by_others) {
      return refuse(context,
                    fmt::format("another hand ended the run of your command ({}), which says nothing about it: start "
                                "again",
                                one_line(seen.error().reason)),
                    ExitCode::Unavailable);
    }
    *context.err << printable(seen.error().log_tail);
    return refuse(context, "your command does not run: " + one_line(seen.error().reason), ExitCode::Negative);
  }
  if (seen->timing == Timing::Steps) {
    *context.err << fmt::format("It reports its steps (nocturne_steps): {} in {}.\n", seen->steps,
                                seconds_text(std::chrono::duration<double>(seen->wall).count()));
  } else {
    *context.err << fmt::format("It took {}. Its process is timed as a whole.\n",
                                seconds_text(std::chrono::duration<double>(seen->wall).count()))
                 << pattern_advice(context, *seen);
  }
  return *seen;
}

void use_probe(const tuner::CommandProbe& seen, tuner::OwnCommand& command) {
  command.timing = seen.timing;
  // A script that is done earlier: all its steps but those that may be a smaller epoch's.
  if (seen.timing == Timing::Steps && seen.ended_by_itself) command.steps = std::max<std::int64_t>(2, seen.steps);
  const auto generous = std::chrono::ceil<std::chrono::seconds>(4 * seen.wall) + std::chrono::seconds(60);
  command.deadline = std::max(std::chrono::seconds(120), generous);
}

}  // namespace

bool CommandOptions::any() const {
  return !name.empty() || !vary.empty() || examples || !time.empty() || !pattern.empty() || !write_campaign.empty();
}

void add_command(CLI::App& subcommand, CommandOptions& options) {
  const char* own = "Options of a command of your own (tune -- COMMAND)";
  subcommand.add_option("--name", options.name, "Name of its campaign (default: the script's)")
      ->type_name("NAME")
      ->group(own);
  subcommand
      .add_option("--vary", options.vary,
                  "An option of the command, or an environment variable, and its values; may be given again")
      ->type_name("'--OPTION=A,B,…'")
      ->allow_extra_args(false)
      ->group(own);
  subcommand.add_option("--examples", options.examples, "Examples in one epoch of its data")
      ->type_name("N")
      ->check(whole_number(1))
      ->group(own);
  auto* time = subcommand.add_option("--time", options.time,
                                     "process: the whole process; steps: it calls nocturne_steps.step()");
  time->type_name("process|steps")->check(CLI::IsMember({"process", "steps"}).description(""))->group(own);
  subcommand
      .add_option("--pattern", options.pattern,
                  "Find its steps in what it prints (worker.time.pattern of 'schema campaign')")
      ->type_name("REGEX")
      ->excludes(time)
      ->group(own);
  subcommand
      .add_option("--write-campaign", options.write_campaign,
                  "Write the campaign file instead of measuring; - prints it")
      ->type_name("FILE")
      ->group(own);
}

std::expected<tuner::CampaignSpec, ExitCode> command_campaign(const CommandOptions& options, bool budgeted,
                                                              const Context& context,
                                                              const tuner::Installation& installation,
                                                              const space::Facts& facts) {
  tuner::OwnCommand command{.words = context.command,
                            .folder = fs::current_path(),
                            .name = options.name,
                            .allocators = measure::available_allocators(measure::probe_launch_machine()),
                            .examples = options.examples,
                            .pattern = options.pattern};
  command.frameworks = tuner::imported_frameworks(command.words, command.folder);
  for (const std::string& text : options.vary) {
    auto variation = tuner::read_variation(text);
    if (!variation) return refuse(context, variation.error());
    command.variations.push_back(*std::move(variation));
  }
  const auto made = [&]() -> std::expected<tuner::CampaignSpec, ExitCode> {
    auto document = tuner::command_document(command);
    if (!document) return refuse(context, document.error());
    if (!budgeted) (*document)["budget"]["trials"] = kUsualTrials;
    return parsed(context, *document, command.folder, facts);
  };
  if (!options.pattern.empty()) {
    command.timing = Timing::Pattern;
    return made();
  }
  if (!options.time.empty()) {
    command.timing = options.time == "steps" ? Timing::Steps : Timing::Process;
    return made();
  }
  const auto first = made();
  if (!first) return first;
  if (const auto known = known_campaign(context, first->document)) {
    command.timing = known->worker.at("time") == "steps" ? Timing::Steps : Timing::Process;
    auto document = tuner::command_document(command);
    if (!document) return refuse(context, document.error());
    if (!budgeted) (*document)["budget"]["trials"] = kUsualTrials;
    if (known->run.is_object()) (*document)["run"] = known->run;
    return parsed(context, *document, command.folder, facts);
  }
  const auto seen = sight(context, *first, installation);
  if (!seen) return std::unexpected(seen.error());
  use_probe(*seen, command);
  return made();
}

ExitCode write_campaign(const CommandOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  nlohmann::json document = spec.document;
  document.erase(tuner::kStoredMachine);
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (options.write_campaign == "-") {
    context.verbatim() << text;
    return ExitCode::Ok;
  }
  if (const auto written = space::write_file(fs::absolute(options.write_campaign), text); !written) {
    *context.err << "nocturne tune: " << written.error() << '\n';
    return ExitCode::Unavailable;
  }
  *context.err << fmt::format("Wrote {}: nocturne tune {}\n", options.write_campaign,
                              deploy::shell_quote(options.write_campaign));
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
