// `nocturne export [CAMPAIGN]`: writes the best configuration down for a deployment.

#include "tuner/cli/subcommand.hpp"

#include <optional>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/nearest.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/proof.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/exchange/trial_formats.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct ExportOptions {
  CampaignChoice campaign;
  std::optional<double> epochs;
  std::string format;  ///< empty: by the extension of `output`, else all formats
  bool force = false;  ///< although nothing proves it faster than the default
  std::string output;  ///< empty: the profiles folder; "-": standard output
};

std::string check_format(const std::string& word) {
  if (deploy::find_exporter(word) != nullptr || tuner::find_trial_format(word) != nullptr) return "";
  std::vector<std::string> names;
  for (const deploy::Exporter& exporter : deploy::exporters()) names.emplace_back(exporter.name);
  for (const tuner::TrialFormat& format : tuner::trial_formats()) names.emplace_back(format.name);
  return fmt::format("no format is called '{}'{}; there are: {}", word, space::did_you_mean(word, names),
                     fmt::join(names, ", "));
}

/// The format asked for, else what the file's extension says, else json where one text is wanted.
const deploy::Exporter* chosen_format(const ExportOptions& options) {
  if (!options.format.empty()) return deploy::find_exporter(options.format);
  for (const deploy::Exporter& exporter : deploy::exporters())
    if (options.output.ends_with("." + std::string(exporter.extension))) return &exporter;
  return options.output.empty() ? nullptr : deploy::find_exporter("json");
}

ExitCode print_written(const Context& context, std::string_view format, const std::filesystem::path& file) {
  if (context.json)
    print_json(context, "export", nlohmann::json::object({{std::string(format), file.string()}}));
  else
    context.verbatim() << file.string() << '\n';
  return ExitCode::Ok;
}

ExitCode print_all(const Context& context, const deploy::WrittenProfile& files, const deploy::Profile& profile) {
  if (context.json) {
    print_json(context, "export",
               {{"json", files.json.string()}, {"env", files.env.string()}, {"sh", files.sh.string()}});
    return ExitCode::Ok;
  }
  const bool own = deploy::has_own_command(profile);
  std::ostream& out = context.verbatim();
  out << files.json.string() << '\n' << files.env.string() << '\n' << files.sh.string() << '\n';
  *context.err << "Trial " << profile.trial << " of " << profile.campaign
               << (profile.gain         ? ": it " + deploy::gain_text(*profile.gain)
                   : profile.trial == 0 ? ", the default configuration"
                                        : ", not compared with the default yet")
               << ".\nRun it: sh " << deploy::shell_quote(files.sh.string())
               << (own ? "\nOr: " : "\nRun anything under it: ")
               << tuner::command_text("apply", deploy::shell_quote(files.json.string()) + (own ? "" : " -- COMMAND"))
               << '\n';
  return ExitCode::Ok;
}

/// What each changed setting is worth, as the campaign's model sees it.
std::map<std::string, std::string> effects_of(const db::Store& store, const tuner::Answer& answer) {
  std::map<std::string, std::string> effects;
  const auto expected = tuner::expectations_of(store, answer);
  if (!expected.matters) return effects;
  for (const tuner::Change& change : answer.changes) {
    if (!change.from) continue;
    for (const auto* list : {&expected.matters->much, &expected.matters->hardly, &expected.matters->unsure}) {
      for (const tuner::Matter& matter : *list) {
        const auto of_default =
            std::ranges::find(matter.others, space::to_text(*change.from), &tuner::OtherValue::value);
        if (matter.parameter != change.parameter || of_default == matter.others.end()) continue;
        effects[change.parameter] =
            fmt::format("{} would be {}", of_default->value, change_text(*of_default, matter.value));
      }
    }
  }
  return effects;
}

/// All trials, whatever they came to: on standard output where no file is named.
ExitCode export_trials(const ExportOptions& options, const Context& context, const tuner::TrialFormat& format) {
  const auto store = open_database(context);
  const auto campaign = choose_campaign(context, store, options.campaign);
  if (options.epochs)
    refuse(context, ExitCode::Usage,
           fmt::format("--epochs does not go with --format {}: trials have the campaign's own", format.name));
  const std::string text = format.text(tuner::trial_table(store, campaign));
  if (options.output.empty() || options.output == "-") {
    context.verbatim() << text;
    return ExitCode::Ok;
  }
  const auto file = std::filesystem::absolute(options.output).lexically_normal();
  value_or_refuse(context, ExitCode::Unavailable, space::write_file(file, text));
  return print_written(context, format.name, file);
}

void setup(CLI::App& subcommand, ExportOptions& options) {
  std::string formats, of_trials;
  for (const deploy::Exporter& exporter : deploy::exporters())
    formats += fmt::format("  {:<13} {}\n", exporter.name, exporter.summary);
  for (const tuner::TrialFormat& format : tuner::trial_formats())
    of_trials += fmt::format("  {:<13} {}\n", format.name, format.summary);
  add_campaign_choice(subcommand, options.campaign);
  subcommand
      .add_option("--epochs", options.epochs, "Export the best for this many epochs (default: the campaign's own)")
      ->type_name("N")
      ->check(positive_number());
  subcommand
      .add_option("-f,--format", options.format, "One format only (default: all, or by the extension of --output)")
      ->type_name("FORMAT")
      ->check(check_format);
  subcommand
      .add_option("-o,--output", options.output,
                  "Where to write; '-' is standard output (default: CAMPAIGN.FORMAT in the profiles folder)")
      ->type_name("FILE");
  subcommand.add_flag("--force", options.force,
                      "Export although nothing proves the best faster than the default; the profile says so");
  subcommand.footer(
      fmt::format("A configuration is exported when fresh pairs of processes have shown it faster than the default.\n\n"
                  "Formats:\n{}\nFormats of its trials, for other tools; to standard output without --output:\n{}\n"
                  "Examples:\n"
                  "  nocturne export\n"
                  "  nocturne export mnist-evening --output train.sh\n"
                  "  nocturne export --format env --output -\n"
                  "  nocturne export --campaign mnist-evening --format csv > trials.csv\n"
                  "  nocturne export mnist-evening --format kernel-tuner --output cache.json\n",
                  formats, of_trials));
}

/// Negative where the best is not proven faster than the default, and not forced. Unavailable where the file cannot be
/// written or the build of the best configuration is gone.
ExitCode run(const ExportOptions& options, Context& context) {
  if (const auto* of_trials = tuner::find_trial_format(options.format))
    return export_trials(options, context, *of_trials);
  const auto [store, campaign] = open_campaign(context, options.campaign);
  if (options.epochs) require_horizons(context, campaign);
  const auto answer = tuner::answer_of(store, campaign, options.epochs);
  if (!answer.best)
    return complain(context, ExitCode::NotFound, fmt::format("no trial of '{}' has ended well yet", campaign.name));
  const space::Workload workload = tuner::workload_of(campaign.spec);
  const std::string doubt = deploy::missing_proof(answer);
  if (!doubt.empty() && !options.force)
    return complain(context, ExitCode::Negative, doubt + ". --force exports it all the same");
  auto profile =
      deploy::make_profile(store, answer,
                           deploy::present_circumstances(workload, context.builds_folder(),
                                                         frameworks_here(context, tuner::find_installation()),
                                                         containers_here(context, tuner::find_installation())));
  if (!profile) return complain(context, ExitCode::Unavailable, profile.error());
  profile->forced = doubt;
  if (deploy::has_own_command(*profile)) profile->effects = effects_of(store, answer);

  const deploy::Exporter* format = chosen_format(options);
  if (format == nullptr) {
    const auto files = deploy::write_profile(context.profiles_folder(), *profile);
    return files ? print_all(context, *files, *profile) : complain(context, ExitCode::Unavailable, files.error());
  }
  if (options.output == "-") {
    context.verbatim() << format->text(*profile);
    return ExitCode::Ok;
  }
  const std::filesystem::path file =
      options.output.empty()
          ? context.profiles_folder() / fmt::format("{}.{}", deploy::file_stem(profile->campaign), format->extension)
          : std::filesystem::absolute(options.output).lexically_normal();
  if (const auto done = space::write_file(file, format->text(*profile), format->executable); !done)
    return complain(context, ExitCode::Unavailable, done.error());
  return print_written(context, format->name, file);
}

}  // namespace

SubcommandAction add_export(CLI::App& subcommand) {
  return add_options<ExportOptions>(subcommand);
}

}  // namespace nocturne::cli
