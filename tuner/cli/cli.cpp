#include "tuner/cli/cli.hpp"

#include <algorithm>
#include <exception>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/error.hpp"
#include "measure/run/shell_words.hpp"
#include "space/nearest.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/manual_text.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/version.hpp"

namespace nocturne::cli {

const std::vector<Subcommand>& subcommands() {
  constexpr std::string_view start = "Start", look = "Look", deploy = "Deploy", judge = "Judge";
  constexpr std::string_view open = "Open to others", upkeep = "Upkeep", hidden;
  // subcommand.hpp says what a new one needs.
  static const std::vector<Subcommand> list = {
      {start, "doctor", "What this machine can run, what it cannot, and why", add_doctor},
      {start, "init", "A commented campaign file for this machine", add_init},
      {start, "space", "Size of a campaign's space, and how long it will take", add_space},
      {start, "predict", "The best to be expected, from what was measured elsewhere", add_predict},
      {start, "tune", "Start or continue a campaign, or tune your own command", add_tune},
      {look, "status", "What a campaign is doing now, from another terminal", add_status},
      {look, "best", "The best configuration and how sure that is", add_best},
      {look, "pareto", "Best for time, throughput or memory; break-even epochs", add_pareto},
      {look, "explain", "Which parameters made the difference", add_explain},
      {look, "model", "What the linear model has learnt, and how far to trust it", add_model},
      {look, "roofline", "How far from possible each measured configuration is", add_roofline},
      {look, "report", "A campaign as one page to hand on; the paper's results", add_report},
      {look, "list", "Campaigns, trials, parameters, strategies, workers, …", add_list},
      {look, "show", "Everything known of one trial and its runs", add_show},
      {deploy, "apply", "Run a command the way a profile was measured", add_apply},
      {deploy, "export", "Write the best configuration down for a deployment", add_export},
      {deploy, "deploy", "Move a profile into a container, and measure what that costs", add_deploy},
      {deploy, "request", "Answer a job description with a measured job script", add_request},
      {judge, "compare", "Configurations side by side; --measure measures them", add_compare},
      {judge, "verify", "Does an exported profile still hold, here and now?", add_verify},
      {judge, "blame", "What changed since then, and what of it made it slower", add_blame},
      {judge, "replay", "Judge strategies on spaces that were measured before", add_replay},
      {open, "ask", "What to measure next, where you measure it yourself", add_ask},
      {open, "tell", "What came of it: values, failures", add_tell},
      {open, "import", "Trials of other machines and tools, as history", add_import},
      {open, "schema", "JSON Schema of campaign files and of each --json document", add_schema},
      {open, "execute", "Carry out one order of a campaign: JSON in, JSON out", add_execute},
      {open, "completion", "A script that completes subcommands and options", add_completion},
      {upkeep, "env", "Environments of frameworks: list, install, check, remove", add_env},
      {upkeep, "noise", "What this machine can resolve, and how long that takes", add_noise},
      {upkeep, "machine", "Peak figures: operations, bandwidth, latency, disk", add_machine},
      {upkeep, "infrastructure", "Register where jobs run: import from MODAK's JSON", add_infrastructure},
      {upkeep, "clean", "Drop old run folders and builds", add_clean},
      {hidden, "manual", "The command reference, made from the program's own options", add_manual},
  };
  return list;
}

namespace {

constexpr std::string_view kDescription =
    "Nocturne tunes training deployments overnight: it measures real training in many configurations\n"
    "and says which is fastest on this machine, by how much, how sure that is, and how to deploy it.";

constexpr std::string_view kExamples =
    "Examples:\n"
    "  nocturne doctor                          what this machine can run\n"
    "  nocturne tune -- python3 train.py        tune a command of your own\n"
    "  nocturne tune examples/mnist.json        start a campaign, or continue it\n"
    "  nocturne best --epochs 90                the best configuration for 90 epochs\n"
    "  nocturne apply mnist -- python3 eval.py  run a command as it was measured\n";

/// An empty path comes from a variable that is not set: the usual place is not what was meant.
std::string named(const std::string& path) {
  return path.empty() ? "the path is empty; without the option the usual place is taken" : "";
}

/// CLI11's, with footers whose paragraphs have no ends of lines of their own: the page breaks them.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(26); }
  /// Subcommands before options: they are what a newcomer looks for.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
           make_subcommands(app, mode) + make_groups(app, mode) + "\n" + make_footer(app);
  }
  /// In a narrower column than options, so that a summary fits its line.
  std::string make_subcommand(const CLI::App* app) const override {
    return fmt::format("  {:<16}{}\n", app->get_name(), app->get_description());
  }
  std::string make_footer(const CLI::App* app) const override { return filled(CLI::Formatter::make_footer(app)); }
  std::string make_description(const CLI::App* app) const override {
    return filled(CLI::Formatter::make_description(app));
  }
};

/// The program as it was called, with the options that say where the data lie.
std::vector<std::string> words_before_subcommand(const Context& context) {
  std::vector<std::string> words = {context.program};
  if (!context.data_option.empty()) words.insert(words.end(), {"--data", context.data_option});
  if (!context.database_option.empty()) words.insert(words.end(), {"--db", context.database_option});
  return words;
}

/// How the program was called, for as long as one command line is worked on: a process may work on several.
class Invocation {
 public:
  explicit Invocation(const Context& context) { tuner::set_invocation({&context.program, 1}); }
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;
  ~Invocation() { tuner::set_invocation(std::vector<std::string>{"nocturne"}); }
};

/// Options that every subcommand has; they may stand before its name and behind it.
void add_common_options(CLI::App& app, Context& context) {
  add_value(app, "--db", context.database_option, "FILE", "The database (default: nocturne.db in the data folder)")
      ->check(named)
      ->group(std::string(kCommonOptions));
  add_value(app, "--data", context.data_option, "DIR",
            "The data folder (default: $NOCTURNE_DATA, else $XDG_DATA_HOME/nocturne, else "
            "~/.local/share/nocturne)")
      ->check(named)
      ->group(std::string(kCommonOptions));
  app.add_flag("--json", context.json, "Print results as one JSON document")->group(std::string(kCommonOptions));
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// What other programs call it, and what it is here: an option of ours, or, where that option is, a hint of its own.
struct ForeignOption {
  std::string_view name, ours, hint = {};
};
constexpr std::string_view kGoesOn = "; the same command goes on where it ended";
constexpr auto kForeignOptions = std::to_array<ForeignOption>({
    {"--budget", "--wall"},
    {"--continue", "--wall", kGoesOn},
    {"--deadline", "--until"},
    {"--duration", "--wall"},
    {"--hours", "--wall"},
    {"--max-evals", "--trials"},
    {"--max-time", "--wall"},
    {"--max-trials", "--trials"},
    {"--minutes", "--wall"},
    {"--n-trials", "--trials"},
    {"--num-trials", "--trials"},
    {"--param", "--vary"},
    {"--params", "--vary"},
    {"--resume", "--wall", kGoesOn},
    {"--time-limit", "--wall"},
    {"--timeout", "--wall"},
    {"--walltime", "--wall"},
});

std::string hint_for_option(std::string_view name, const CLI::App& app) {
  const auto known = std::ranges::find(kForeignOptions, name, &ForeignOption::name);
  if (known == kForeignOptions.end() || app.get_option_no_throw(std::string(known->ours)) == nullptr)
    return space::did_you_mean(name, option_names(app));
  return known->hint.empty() ? fmt::format(", did you mean '{}'?", known->ours) : std::string(known->hint);
}

/// A command without the dashes before it: `nocturne tune --wall 5min python train.py`. Empty: it is none.
std::string forgotten_dashes(const CLI::App& app, std::span<const std::string> arguments) {
  if (app.get_name() != "tune" || app.count("file") == 0) return {};
  const auto begin = std::ranges::find(arguments, app.get_option("file")->as<std::string>());
  if (begin == arguments.end() || begin->ends_with(".json")) return {};
  // Before it stands an option that nobody knows: that is what is wrong, and this may be its value.
  const auto is_unknown = [&](const std::string& word) {
    return word.starts_with("-") && std::ranges::find(arguments.begin(), begin, word) != begin;
  };
  if (std::ranges::any_of(app.remaining(true), is_unknown)) return {};
  std::vector<std::string> words(std::ranges::find(arguments.begin(), begin, "tune"), begin);
  words.emplace_back("--");
  words.insert(words.end(), begin, arguments.end());
  return fmt::format("a command of your own stands behind '--': '{} {}'", tuner::command_text({}),
                     measure::shell_command(words));
}

/// The sentence for arguments that nobody expected: an unknown subcommand, an unknown option, one word too many.
std::string unexpected_argument(const CLI::App& root, std::span<const std::string> arguments,
                                const std::string& fallback) {
  const auto chosen = root.get_subcommands();
  const CLI::App& app = chosen.empty() ? root : *chosen.front();
  const auto is_word = [](const std::string& word) { return !word.starts_with("-"); };
  if (std::ranges::any_of(root.remaining(true), is_word))
    if (std::string sentence = forgotten_dashes(app, arguments); !sentence.empty()) return sentence;
  for (const std::string& word : root.remaining(true)) {
    if (word.starts_with("-"))
      return fmt::format("unknown option '{}'{}", word, hint_for_option(word.substr(0, word.find('=')), app));
    if (chosen.empty()) {
      std::vector<std::string> names;
      for (const Subcommand& subcommand : subcommands())
        if (!subcommand.group.empty()) names.emplace_back(subcommand.name);
      const std::string hint = space::did_you_mean(word, names);
      return fmt::format("unknown subcommand '{}'{}", word,
                         hint.empty() ? fmt::format("; '{}' lists them", tuner::command_text({"--help"})) : hint);
    }
    return fmt::format("'{}' takes no argument '{}'", app.get_name(), word);
  }
  return fallback;
}

/// The words that are ours: in `tune … -- COMMAND` those before the dashes. Those behind them go into the context
/// unread, whatever they look like.
std::span<const std::string> before_command(std::span<const std::string> arguments, Context& context) {
  const auto dashes = std::ranges::find(arguments, "--");
  const auto ours = arguments.first(static_cast<std::size_t>(dashes - arguments.begin()));
  if (dashes == arguments.end() || std::ranges::find(ours, "tune") == ours.end()) return arguments;
  context.command.assign(dashes + 1, arguments.end());
  context.command_given = true;
  return ours;
}

ExitCode usage_error(const CLI::App& root, const std::string& sentence, std::ostream& err) {
  const auto chosen = root.get_subcommands();
  const std::string subcommand = chosen.empty() ? "" : " " + chosen.front()->get_name();
  err << "nocturne" << subcommand << ": " << sentence << "\nTry '"
      << tuner::command_text(chosen.empty() ? "--help" : chosen.front()->get_name(), chosen.empty() ? "" : "--help")
      << "'.\n";
  return ExitCode::Usage;
}

/// Runs a subcommand. What it throws ends here: a database's error with the exit code that its code says, anything else
/// as Internal.
ExitCode run_action(const std::function<ExitCode(Context&)>& action, Context& context) {
  try {
    const ExitCode code = action(context);
    context.out->flush();
    return code;
  } catch (const Refusal& refusal) {
    context.out->flush();
    return refusal.code;
  } catch (const db::Error& error) {
    context.out->flush();
    return complain(context, error);
  } catch (const std::exception& error) {
    *context.err << "nocturne: " << error.what() << "\n";
    return ExitCode::Internal;
  }
}

}  // namespace

ExitCode run_command_line(std::span<const std::string> arguments, Context& context) {
  CLI::App root{std::string(kDescription), "nocturne"};
  root.require_subcommand(0, 1);
  root.formatter(std::make_shared<HelpFormatter>());
  root.footer(fmt::format("{}\n{}", kExamples, exit_code_table()));
  bool show_version = false;
  root.add_flag("--version", show_version, "Print the version, its commit and the libraries' versions");
  add_common_options(root, context);
  context.app = &root;
  const Invocation invocation(context);
  const Page page(context);
  context.arguments.assign(arguments.begin(), arguments.end());

  std::function<ExitCode(Context&)> action;
  for (const Subcommand& subcommand : subcommands()) {
    CLI::App* app = root.add_subcommand(std::string(subcommand.name), std::string(subcommand.summary));
    app->group(std::string(subcommand.group));
    auto runner = subcommand.add(*app);
    add_common_options(*app, context);
    app->callback([&action, runner] { action = runner; });
  }

  const std::span<const std::string> ours = before_command(arguments, context);
  try {
    // CLI11 takes the words from the back.
    root.parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    *context.out << (chosen.empty() ? root.help() : chosen.front()->help("nocturne"));
    return ExitCode::Ok;
  } catch (const CLI::ExtrasError& error) {
    return usage_error(root, unexpected_argument(root, ours, error.what()), *context.err);
  } catch (const CLI::ParseError& error) {
    return usage_error(root, error.what(), *context.err);
  }

  tuner::set_invocation(words_before_subcommand(context));
  if (show_version) {
    if (context.json)
      print_json(context, "version", tuner::version_json());
    else
      *context.out << tuner::version_text();
    return ExitCode::Ok;
  }
  if (!action) {
    *context.err << laid_out(root.help(), context.columns);
    return ExitCode::Usage;
  }
  return run_action(action, context);
}

}  // namespace nocturne::cli
