#include "tuner/cli/cli.hpp"

#include <algorithm>
#include <exception>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "space/nearest.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/verbs/apply.hpp"
#include "tuner/cli/verbs/best.hpp"
#include "tuner/cli/verbs/blame.hpp"
#include "tuner/cli/verbs/clean.hpp"
#include "tuner/cli/verbs/compare.hpp"
#include "tuner/cli/verbs/completion.hpp"
#include "tuner/cli/verbs/doctor.hpp"
#include "tuner/cli/verbs/env.hpp"
#include "tuner/cli/verbs/explain.hpp"
#include "tuner/cli/verbs/export.hpp"
#include "tuner/cli/verbs/list.hpp"
#include "tuner/cli/verbs/machine.hpp"
#include "tuner/cli/verbs/model.hpp"
#include "tuner/cli/verbs/noise.hpp"
#include "tuner/cli/verbs/pareto.hpp"
#include "tuner/cli/verbs/replay.hpp"
#include "tuner/cli/verbs/report.hpp"
#include "tuner/cli/verbs/roofline.hpp"
#include "tuner/cli/verbs/schema.hpp"
#include "tuner/cli/verbs/show.hpp"
#include "tuner/cli/verbs/space.hpp"
#include "tuner/cli/verbs/status.hpp"
#include "tuner/cli/verbs/tune.hpp"
#include "tuner/cli/verbs/verify.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/version.hpp"

namespace nocturne::cli {

const std::vector<Verb>& verbs() {
  // In the order of an evening and the morning after. A new verb is a pair of files and a line here.
  static const std::vector<Verb> list = {
      make_verb<DoctorOptions>("doctor", "What this machine can run, what not, and why"),
      make_verb<EnvOptions>("env", "Environments of frameworks: which there are; install, check, remove them"),
      make_verb<MachineOptions>("machine", "What this machine can do at best: operations, bandwidth, latency, disk"),
      make_verb<SpaceOptions>("space", "What a campaign file describes, and how long it will take"),
      make_verb<NoiseOptions>("noise", "What this machine can tell apart, and how long that takes"),
      make_verb<TuneOptions>("tune", "Start a campaign, or go on with it"),
      make_verb<StatusOptions>("status", "What a campaign is doing now, from another terminal"),
      make_verb<BestOptions>("best", "The best configuration and how sure that is"),
      make_verb<ParetoOptions>("pareto", "What is best for whom: time, throughput, memory; break-even epochs"),
      make_verb<ListOptions>("list", "Campaigns, trials, parameters, strategies, workers, …"),
      make_verb<ShowOptions>("show", "What is known of one trial, and of its runs"),
      make_verb<CompareOptions>("compare", "Configurations beside each other; on demand measured in turns"),
      make_verb<RooflineOptions>("roofline", "How far from possible each measured configuration is"),
      make_verb<ModelOptions>("model", "What the linear model has learnt, and how far it can be trusted"),
      make_verb<ExplainOptions>("explain",
                                "Which parameters made the difference; what is expected of one configuration"),
      make_verb<ReportOptions>("report", "What the paper claims, and what this machine says to it"),
      make_verb<ExportOptions>("export", "Write the best configuration down for a deployment"),
      make_verb<ApplyOptions>("apply", "Run a command the way a profile was measured"),
      make_verb<VerifyOptions>("verify", "Does an exported profile still hold, here and now?"),
      make_verb<BlameOptions>("blame", "What changed since then, and what of it made it slower"),
      make_verb<ReplayOptions>("replay", "Judge strategies on spaces that were measured before"),
      make_verb<CleanOptions>("clean", "Drop old run folders and builds"),
      make_verb<SchemaOptions>("schema", "The JSON Schema of campaign files, and of each document of --json"),
      make_verb<CompletionOptions>("completion", "A script that completes verbs and options in your shell"),
  };
  return list;
}

namespace {

constexpr std::string_view kDescription =
    "Nocturne tunes training deployments overnight: it measures real training in many configurations\n"
    "and says which is fastest on this machine, by how much, how sure that is, and how to deploy it.";

constexpr std::string_view kExamples =
    "Examples:\n"
    "  nocturne doctor                       what this machine can run\n"
    "  nocturne tune examples/mnist.json     start a campaign, or go on with it\n"
    "  nocturne best --epochs 90             the fastest configuration for 90 epochs\n"
    "  nocturne apply PROFILE -- COMMAND     run a command under an exported profile\n";

/// An empty path comes from a variable that is not set: the usual place is not what was meant.
std::string named(const std::string& path) {
  return path.empty() ? "the path is empty; without the option the usual place is taken" : "";
}

/// CLI11's, with footers whose paragraphs have no ends of lines of their own: the page breaks them.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("SUBCOMMAND", "VERB");
    column_width(26);
  }
  std::string make_footer(const CLI::App* app) const override { return filled(CLI::Formatter::make_footer(app)); }
  std::string make_description(const CLI::App* app) const override {
    return filled(CLI::Formatter::make_description(app));
  }
};

/// Lays out what is written on context.out while it lives.
class LaidOut {
 public:
  explicit LaidOut(Context& context) : context_(context), sink_(*context.out), page_(sink_, context.columns) {
    context.behind_page = &sink_;
    context.out = &page_;
  }
  LaidOut(const LaidOut&) = delete;
  LaidOut& operator=(const LaidOut&) = delete;
  ~LaidOut() {
    context_.out = &sink_;
    context_.behind_page = nullptr;
  }

 private:
  Context& context_;
  std::ostream& sink_;
  Page page_;
};

/// The program as it was called, with the options that say where the data lie.
std::vector<std::string> words_before_verb(const Context& context) {
  std::vector<std::string> words = {context.program};
  if (!context.data_option.empty()) words.insert(words.end(), {"--data", context.data_option});
  if (!context.database_option.empty()) words.insert(words.end(), {"--db", context.database_option});
  return words;
}

/// The options of every verb, accepted before and after it.
void add_common_options(CLI::App& app, Context& context) {
  app.add_option("--db", context.database_option, "The database (default: nocturne.db in the data folder)")
      ->type_name("FILE")
      ->check(named)
      ->group("Common options");
  app.add_option("--data", context.data_option,
                 "The data folder (default: $NOCTURNE_DATA, else $XDG_DATA_HOME/nocturne, else "
                 "~/.local/share/nocturne)")
      ->type_name("DIR")
      ->check(named)
      ->group("Common options");
  app.add_flag("--json", context.json, "Print results as one JSON document")->group("Common options");
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// The sentence for arguments that nobody expected: an unknown verb, an unknown option, one word too many.
std::string unexpected_argument(const CLI::App& root, const std::string& fallback) {
  const auto chosen = root.get_subcommands();
  const CLI::App& app = chosen.empty() ? root : *chosen.front();
  for (const std::string& word : root.remaining(true)) {
    if (word.starts_with("-")) {
      return fmt::format("unknown option '{}'{}", word,
                         space::did_you_mean(word.substr(0, word.find('=')), option_names(app)));
    }
    if (chosen.empty()) {
      std::vector<std::string> names;
      for (const Verb& verb : verbs()) {
        names.emplace_back(verb.name);
      }
      const std::string hint = space::did_you_mean(word, names);
      return fmt::format("unknown verb '{}'{}", word,
                         hint.empty() ? fmt::format("; '{}' lists them", tuner::command_text({"--help"})) : hint);
    }
    return fmt::format("'{}' takes no argument '{}'", app.get_name(), word);
  }
  return fallback;
}

/// Of `tune … -- COMMAND` the words before the dashes; those behind go into the context, for nothing in them is ours.
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
  const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
  err << "nocturne" << verb << ": " << sentence << "\nTry '"
      << tuner::command_text(chosen.empty() ? "--help" : chosen.front()->get_name(), chosen.empty() ? "" : "--help")
      << "'.\n";
  return ExitCode::Usage;
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
  const LaidOut page(context);
  context.arguments.assign(arguments.begin(), arguments.end());
  tuner::set_invocation({&context.program, 1});

  std::function<ExitCode(Context&)> action;
  for (const Verb& verb : verbs()) {
    CLI::App* app = root.add_subcommand(std::string(verb.name), std::string(verb.summary));
    app->group("Verbs");
    auto runner = verb.add(*app);
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
    return usage_error(root, unexpected_argument(root, error.what()), *context.err);
  } catch (const CLI::ParseError& error) {
    return usage_error(root, error.what(), *context.err);
  }

  tuner::set_invocation(words_before_verb(context));
  if (show_version) {
    if (context.json) {
      print_json(context, "version", tuner::version_json());
    } else {
      *context.out << tuner::version_text();
    }
    return ExitCode::Ok;
  }
  if (!action) {
    *context.err << laid_out(root.help(), context.columns);
    return ExitCode::Usage;
  }
  try {
    const ExitCode code = action(context);
    context.out->flush();
    return code;
  } catch (const std::exception& error) {
    *context.err << "nocturne: " << error.what() << "\n";
    return ExitCode::Internal;
  }
}

}  // namespace nocturne::cli
