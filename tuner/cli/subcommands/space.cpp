// `nocturne space FILE`: what a campaign file describes, before anything is measured.

#include "tuner/cli/subcommand.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/preview/ahead.hpp"

namespace nocturne::cli {
namespace {

struct SpaceOptions {
  std::string file;
  std::optional<std::int64_t> list;    ///< print the first N valid configurations
  std::optional<std::int64_t> sample;  ///< print N valid configurations drawn at random
  std::uint64_t seed = 1;              ///< seed of the drawn configurations
};

using nlohmann::json;

/// Everything that is printed, in either form.
struct Preview {
  const tuner::CampaignSpec& spec;
  const tuner::Ahead& ahead;
  std::vector<space::Configuration> configurations;
};

std::vector<space::Configuration> chosen_configurations(const SpaceOptions& options, const space::Space& space) {
  std::vector<space::Configuration> chosen;
  if (options.list) {
    auto enumerator = space.enumerate();
    while (static_cast<std::int64_t>(chosen.size()) < *options.list) {
      auto next = enumerator.next();
      if (!next) break;
      chosen.push_back(std::move(*next));
    }
  }
  for (std::int64_t i = 0; options.sample && i < *options.sample; ++i) {
    space::Random random(options.seed, static_cast<std::uint64_t>(i));
    auto configuration = space.sample(random);
    if (!configuration) break;
    chosen.push_back(std::move(*configuration));
  }
  return chosen;
}

std::string number_of_values(const space::Parameter& parameter) {
  return parameter.is_real() ? "any" : fmt::format("{}", parameter.size());
}

void print_parameters(const Preview& preview, const Context& context) {
  Table table({{"stage"},
               {"parameter"},
               {"values", Align::Right},
               {"domain", Align::Left, Fit::Wraps},
               {"default"},
               {"explanation", Align::Left, Fit::Wraps}});
  for (const space::Stage stage :
       {space::Stage::Environment, space::Stage::Build, space::Stage::Compile, space::Stage::Run}) {
    for (const space::Parameter& parameter : preview.spec.space.parameters()) {
      if (parameter.stage != stage) continue;
      std::string explanation = parameter.description;
      if (parameter.is_conditional()) explanation += fmt::format(" (only if {})", parameter.active_if);
      const std::string domain = parameter.domain_text() + (parameter.unit.empty() ? "" : " " + parameter.unit);
      table.add({Cell(std::string(space::to_text(stage)), Style::Faint), Cell(parameter.name, Style::Strong),
                 number_of_values(parameter), domain, space::to_text(parameter.default_value), explanation});
    }
  }
  table.print(context);
}

void print_constraints(const Preview& preview, const Context& context) {
  if (preview.ahead.survey.constraints.empty()) return;
  *context.out << '\n';
  Table table({{"forbids", Align::Right}, {"unless", Align::Left, Fit::Wraps}, {"because", Align::Left, Fit::Wraps}});
  for (const tuner::ConstraintEffect& effect : preview.ahead.survey.constraints) {
    const bool idle = effect.removed && *effect.removed == space::Count(0);
    table.add({Cell(effect.removed ? effect.removed->to_text() : "not counted", idle ? Style::Faint : Style::Plain),
               effect.constraint.require, effect.constraint.because});
  }
  table.print(context);
}

std::string basis(double seconds, std::int64_t count, std::string_view thing, bool estimated = false) {
  if (count == 0 && estimated) {
    return fmt::format("{} a {} (estimated by what this machine could do at best; none was measured here yet)",
                       seconds_text(seconds), thing);
  }
  if (count == 0) return fmt::format("{} a {} (assumed: none was measured here yet)", seconds_text(seconds), thing);
  return fmt::format("{} a {} (median of {} measured)", seconds_text(seconds), thing, count);
}

void print_environments(const Preview& preview, const Context& context) {
  const tuner::EnvironmentsAhead& ahead = preview.ahead.environments;
  if (ahead.empty()) return;
  std::ostream& out = *context.out;
  out << fmt::format("\nInstall    {} of {} environments", ahead.to_install.size(),
                     ahead.to_install.size() + ahead.installed.size());
  if (!ahead.to_install.empty()) {
    out << fmt::format(": {}\n           about {} to download, {} on disk, {}", fmt::join(ahead.to_install, ", "),
                       bytes_text(ahead.download_bytes), bytes_text(ahead.new_disk_bytes), seconds_text(ahead.seconds));
  }
  if (!ahead.limit.empty()) out << "\n           " << ahead.limit;
  out << '\n';
}

void print_forecast(const Preview& preview, const Context& context) {
  const tuner::Forecast& forecast = preview.ahead.forecast;
  std::ostream& out = *context.out;
  out << fmt::format("\nForecast   {}; {}; {} for measuring the best and the default again\n",
                     basis(preview.ahead.costs.trial_seconds, preview.ahead.costs.trials, "trial",
                           preview.ahead.costs.step_seconds.has_value()),
                     basis(preview.ahead.costs.build_seconds, preview.ahead.costs.builds, "build"),
                     seconds_text(preview.ahead.costs.finals_seconds));
  if (forecast.everything_seconds)
    out << fmt::format("           all configurations: {}\n", seconds_text(*forecast.everything_seconds));
  if (forecast.budget_seconds) {
    out << fmt::format("           the budget's {}: about {:.0f} trials\n", seconds_text(*forecast.budget_seconds),
                       forecast.trials.value_or(0));
  } else if (forecast.seconds && preview.spec.budget.trials) {
    out << fmt::format("           the budget's {:.0f} trials: {}\n", *forecast.trials,
                       seconds_text(*forecast.seconds));
  } else {
    out << "           no budget: it ends when nothing is left to propose\n";
  }
}

void print_text(const Preview& preview, const Context& context) {
  std::ostream& out = *context.out;
  const tuner::CampaignSpec& spec = preview.spec;
  out << coloured(spec.name, Style::Strong, context.colour_out());
  if (!spec.description.empty()) out << ": " << one_line(spec.description);
  out << fmt::format("\n{} configurations are valid, of {} combinations; {}{} {}\n\n",
                     preview.ahead.survey.valid.to_text(), preview.ahead.survey.combinations.to_text(),
                     preview.ahead.survey.builds.at_most ? "at most " : "", preview.ahead.survey.builds.size.to_text(),
                     preview.ahead.survey.builds.size.approximate == 1 ? "build" : "different builds");
  print_parameters(preview, context);
  print_constraints(preview, context);
  print_environments(preview, context);
  print_forecast(preview, context);
  if (!preview.configurations.empty()) out << '\n';
  for (const space::Configuration& configuration : preview.configurations) out << settings_line(configuration) << '\n';
}

/// {"text", "kind", "number", "standard_error"}: exact numbers above 2⁵³ only in the text.
json size_json(const space::Size& size) {
  const bool infinite = size.kind == space::Size::Kind::Infinite;
  json document = {{"text", size.to_text()},
                   {"kind", infinite                                ? "infinite"
                            : size.kind == space::Size::Kind::Exact ? "exact"
                                                                    : "estimate"},
                   {"number", infinite ? json() : json(size.approximate)}};
  if (size.kind == space::Size::Kind::Estimate) document["standard_error"] = size.standard_error;
  return document;
}

json preview_json(const Preview& preview) {
  const auto constraint = [](const tuner::ConstraintEffect& effect) -> json {
    return {{"require", effect.constraint.require},
            {"because", effect.constraint.because},
            {"forbids", effect.removed ? json(effect.removed->to_double()) : json()}};
  };
  json document = {{"campaign", preview.spec.name},
                   {"file", preview.spec.file.string()},
                   {"identity", preview.spec.identity()},
                   {"combinations", size_json(preview.ahead.survey.combinations)},
                   {"valid", size_json(preview.ahead.survey.valid)},
                   {"builds", size_json(preview.ahead.survey.builds.size)},
                   {"parameters", preview.spec.space.to_json()["parameters"]},
                   {"constraints", json_list(preview.ahead.survey.constraints, constraint)},
                   {"default", preview.spec.space.default_configuration().to_json()}};
  document["builds"]["at_most"] = preview.ahead.survey.builds.at_most;
  document["forecast"] = {{"trial_seconds", preview.ahead.costs.trial_seconds},
                          {"trials_measured", preview.ahead.costs.trials},
                          {"estimated_step_seconds", or_null(preview.ahead.costs.step_seconds)},
                          {"build_seconds", preview.ahead.costs.build_seconds},
                          {"builds_measured", preview.ahead.costs.builds},
                          {"finals_seconds", preview.ahead.costs.finals_seconds},
                          {"everything_seconds", or_null(preview.ahead.forecast.everything_seconds)},
                          {"budget_seconds", or_null(preview.ahead.forecast.budget_seconds)},
                          {"trials", or_null(preview.ahead.forecast.trials)},
                          {"seconds", or_null(preview.ahead.forecast.seconds)}};
  const auto unavailable = [](const tuner::UnavailableFramework& framework) -> json {
    return {{"framework", framework.name}, {"reason", framework.reason}, {"sources", framework.sources}};
  };
  document["environments"] = {{"installed", preview.ahead.environments.installed},
                              {"to_install", preview.ahead.environments.to_install},
                              {"download_bytes", preview.ahead.environments.download_bytes},
                              {"disk_bytes", preview.ahead.environments.disk_bytes},
                              {"seconds", preview.ahead.environments.seconds},
                              {"limit", preview.ahead.environments.limit},
                              {"unavailable", json_list(preview.spec.unavailable, unavailable)}};
  document["configurations"] =
      json_list(preview.configurations, [](const space::Configuration& each) { return each.to_json(); });
  return document;
}

ExitCode report_problems(const std::vector<tuner::Problem>& problems, const Context& context) {
  if (context.json) {
    const auto form = [](const tuner::Problem& problem) { return tuner::to_json(problem); };
    print_json(context, "space-problems", {{"problems", json_list(problems, form)}});
  } else {
    *context.err << tuner::to_text(problems) << '\n';
  }
  return ExitCode::Usage;
}

void setup(CLI::App& subcommand, SpaceOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The campaign file")->required();
  add_value(subcommand, "--list", options.list, "N", "Print the first N valid configurations",
            whole_number(0, 1'000'000'000));
  add_value(subcommand, "--sample", options.sample, "N",
            "Print N valid configurations drawn at random, each equally likely", whole_number(0, 1'000'000'000));
  add_value(subcommand, "--seed", options.seed, "N", "Seed of the drawing (default: 1)");
  subcommand.footer(
      "Measures nothing. The forecast rests on earlier trials of the database, where there are any.\n"
      "\n"
      "Examples:\n"
      "  nocturne space examples/mnist.json\n"
      "  nocturne space examples/mnist.json --sample 5 --seed 7");
}

/// Usage where the file has problems.
ExitCode run(const SpaceOptions& options, Context& context) {
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineRoots roots = installation.machine_roots();
  const auto frameworks = frameworks_here(context, installation);
  const measure::MachineFacts machine = measure::probe_machine(roots);
  const auto spec = tuner::load_campaign(options.file, measure::facts_of(machine), frameworks.get());
  if (!spec) return report_problems(spec.error(), context);

  const auto store = open_known_database(context);
  const auto ahead = tuner::look_ahead(*spec, *frameworks, store ? &*store : nullptr, measure::fingerprint_of(machine),
                                       std::chrono::system_clock::now());
  const Preview preview{*spec, ahead, chosen_configurations(options, spec->space)};
  if (context.json)
    print_json(context, "space", preview_json(preview));
  else
    print_text(preview, context);
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_space(CLI::App& subcommand) {
  return add_options<SpaceOptions>(subcommand);
}

}  // namespace nocturne::cli
