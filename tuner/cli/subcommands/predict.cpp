// `nocturne predict FILE`: what to expect of a campaign's configurations, before anything is measured.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/predict/prediction.hpp"
#include "tuner/roofline/described_machine.hpp"
#include "tuner/roofline/machine_figures.hpp"

namespace nocturne::cli {
namespace {

constexpr const char* kThisMachine = "this";
constexpr std::int64_t kMostShown = 1000;

struct PredictOptions {
  std::string file;
  std::string machine = kThisMachine;
  std::optional<double> epochs;
  std::int64_t count = 10;
};

using nlohmann::json;

/// What is printed, in either form.
struct PredictionPage {
  const tuner::CampaignSpec& spec;
  const tuner::PredictedRanking& ranking;
  std::string machine;
  std::string settle;  ///< a command
};

/// What is asked about a machine.
tuner::PredictionWishes wishes_of(const db::Store& store, const space::Fingerprint& fingerprint) {
  return {.machine_key = fingerprint.key(),
          .machine_class = tuner::machine_class(fingerprint),
          .figures = store.machine_figures(tuner::figures_key(fingerprint))};
}

/// The machine by its host, of those that campaigns were measured on, or of that name, of those that were described.
/// Throws Refusal.
tuner::PredictionWishes wishes_of(const Context& context, const db::Store& store, const std::string& name) {
  std::vector<std::string> hosts;
  for (const db::CampaignSummary& each : store.list_campaigns()) {
    if (each.fingerprint.empty()) continue;
    const auto fingerprint = space::Fingerprint::from_json(store.load_fingerprint(each.fingerprint).fields);
    const auto* host = fingerprint ? fingerprint->find("system.host") : nullptr;
    const std::string& known = host != nullptr ? host->value : each.name;
    if (known == name)
      return fingerprint ? wishes_of(store, *fingerprint) : tuner::PredictionWishes{.machine_key = each.fingerprint};
    if (std::ranges::find(hosts, known) == hosts.end()) hosts.push_back(known);
  }
  if (auto described = store.machine_figures(tuner::described_key(name)))
    return {.machine_key = described->key,
            .machine_class = tuner::machine_class(described->fields),
            .figures = std::move(described)};
  refuse(
      context, ExitCode::NotFound,
      fmt::format("no campaign was measured on '{}', and no machine of that name was described{}; there are: this{}{}",
                  name, space::did_you_mean(name, hosts), hosts.empty() ? "" : ", ", fmt::join(hosts, ", ")));
}

std::string gain_text(const tuner::PredictedConfiguration& predicted) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", predicted.gain, predicted.gain_low, predicted.gain_high);
}

std::string evidence_text(const tuner::PredictedConfiguration& predicted) {
  switch (predicted.basis) {
    case tuner::PredictionBasis::Pairs:
      return fmt::format("pairs here, trial {}", *predicted.trial);
    case tuner::PredictionBasis::Trials:
      return fmt::format("trial {} here", *predicted.trial);
    case tuner::PredictionBasis::Machine:
      return "other trials here";
    case tuner::PredictionBasis::Class:
      return "a machine of this class";
    case tuner::PredictionBasis::Roofline:
      return "roofline alone";
    case tuner::PredictionBasis::Workload:
      break;
  }
  return "elsewhere";
}

bool may_be_faster(const tuner::PredictedConfiguration& predicted) {
  return predicted.gain > 1;
}

/// The command that would turn the first line into a measurement.
std::string settling_command(const tuner::PredictedRanking& ranking, const std::string& file) {
  if (ranking.best.empty() || !may_be_faster(ranking.best.front()))
    return tuner::command_text("tune", tuner::file_word(file));
  const auto& first = ranking.best.front();
  if (first.basis == tuner::PredictionBasis::Trials)
    return tuner::command_text(
        "compare", fmt::format("0 {} --campaign {} --measure", *first.trial, deploy::shell_quote(first.campaign)));
  return tuner::command_text("tune", tuner::file_word(file));
}

void print_sources(const PredictionPage& page, const Context& context) {
  std::size_t here = 0, elsewhere = 0, trials = 0;
  std::set<std::string> machines;
  for (const tuner::PredictionSource& each : page.ranking.sources) {
    (each.same_machine && each.same_workload ? here : elsewhere) += 1;
    trials += each.trials;
    machines.insert(each.machine);
  }
  if (page.ranking.sources.empty()) {
    *context.out << "Nothing was measured anywhere: operations, bytes and the machine's peak figures say it.\n";
    return;
  }
  *context.out << fmt::format("From {} trials: {} campaign{} of this machine and workload, {} of others.\n", trials,
                              here, here == 1 ? "" : "s", elsewhere);
  if (machines.size() < 2) return;
  *context.out << fmt::format("Of what a setting does, {:.0f} % is a machine's own, by what {} machines say.\n",
                              100 * page.ranking.own_share, machines.size());
}

/// Without those that are expected to be slower than the default: nobody asks for them.
void print_ranking(const PredictionPage& page, const Context& context) {
  const tuner::PredictedRanking& ranking = page.ranking;
  tuner::DefaultSettings defaults(page.spec.document, {});
  defaults.know(page.spec.space.default_configuration());
  std::vector<Column> columns = {{"times as fast as the default (90 %)"}};
  if (ranking.knows_times()) columns.push_back({"would take", Align::Right});
  columns.push_back({"rests on"});
  columns.push_back({"settings", Align::Left, Fit::Wraps});
  Table table(std::move(columns));
  for (const tuner::PredictedConfiguration& each : ranking.best) {
    if (!may_be_faster(each)) continue;
    std::vector<Cell> cells = {Cell(gain_text(each), each.is_faster() ? Style::Strong : Style::Plain)};
    if (ranking.knows_times()) cells.emplace_back(seconds_text(each.seconds));
    cells.emplace_back(evidence_text(each));
    cells.emplace_back(defaults.text(each.configuration));
    table.add(std::move(cells));
  }
  table.print(context);
  *context.out << '\n';
}

void print_prediction(const PredictionPage& page, const Context& context) {
  const tuner::PredictedRanking& ranking = page.ranking;
  std::ostream& out = *context.out;
  out << fmt::format("{} on {}: to be expected, not measured\n\n", page.spec.name, page.machine);
  const bool hope = std::ranges::any_of(ranking.best, may_be_faster);
  if (hope)
    print_ranking(page, context);
  else
    out << "Nothing that is no guess is expected to be faster than the default.\n";
  if (ranking.knows_times())
    out << fmt::format("The default would take {} ({} to {}).\n", seconds_text(ranking.usual.seconds),
                       seconds_text(ranking.usual.seconds_low), seconds_text(ranking.usual.seconds_high));
  else
    out << "How long it takes here is not known to within a factor of two: only gains are.\n";
  if (ranking.withheld > 0) {
    out << fmt::format(
        "Withheld: {} of {} configurations. What they gain here would be a guess: it could cost more "
        "than is expected of it.\n",
        ranking.withheld, ranking.candidates - 1);
  }
  if (hope && std::ranges::none_of(ranking.best, &tuner::PredictedConfiguration::is_faster))
    out << "None of these is known to be faster than the default: a guess, and no advice.\n";
  print_sources(page, context);
  if (!ranking.all_candidates)
    out << fmt::format("{} configurations were looked at, of more that are valid.\n", ranking.candidates);
  out << "What settles it: " << page.settle << '\n';
}

json predicted_json(const tuner::PredictedConfiguration& predicted) {
  return {{"configuration", predicted.configuration.to_json()},
          {"time_s", predicted.seconds},
          {"time_low_s", predicted.seconds_low},
          {"time_high_s", predicted.seconds_high},
          {"gain", predicted.gain},
          {"gain_low", predicted.gain_low},
          {"gain_high", predicted.gain_high},
          {"evidence", tuner::to_text(predicted.basis)},
          {"campaign", text_or_null(predicted.campaign)},
          {"trial", or_null(predicted.trial)}};
}

json prediction_json(const PredictionPage& page) {
  const auto source = [](const tuner::PredictionSource& each) -> json {
    return {{"campaign", each.campaign},         {"generation", each.generation},       {"machine", each.machine},
            {"same_machine", each.same_machine}, {"same_workload", each.same_workload}, {"trials", each.trials}};
  };
  const tuner::PredictedRanking& ranking = page.ranking;
  return {{"campaign", page.spec.name},
          {"machine", page.machine},
          {"default", predicted_json(ranking.usual)},
          {"best", json_list(ranking.best, predicted_json)},
          {"times_known", ranking.knows_times()},
          {"own_share", ranking.own_share},
          {"by_share", ranking.by_share},
          {"withheld", ranking.withheld},
          {"candidates", ranking.candidates},
          {"all_candidates", ranking.all_candidates},
          {"sources", json_list(ranking.sources, source)},
          {"settle", page.settle}};
}

void setup(CLI::App& subcommand, PredictOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The campaign file")->required();
  add_value(subcommand, "--machine", options.machine, "HOST",
            "Of another machine that campaigns were measured on, or that was described (default: this)");
  subcommand.add_option("--epochs", options.epochs, "For so many epochs (default: the campaign's own)")
      ->type_name("N")
      ->check(positive_number());
  add_value(subcommand, "-n,--count", options.count, "N", "How many (default: 10)", whole_number(1, kMostShown));
  subcommand.footer(
      "Measures nothing. All campaigns of the database that share parameters with FILE, of whatever machine and\n"
      "workload ('nocturne import' brings those of other machines), are explained together by one linear model:\n"
      "effects that all have, and by how much a machine and a workload deviate. What was measured on the machine\n"
      "itself weighs most. Gains are against the default, with 90 % intervals (of pairs: as they were judged). What\n"
      "could cost more than is expected of it is a guess, and withheld; nothing that is predicted can be exported as\n"
      "proven.\n"
      "\n"
      "Examples:\n"
      "  nocturne predict examples/mnist.json\n"
      "  nocturne predict examples/mnist.json --epochs 90 --count 3\n"
      "  nocturne predict examples/mnist.json --machine node17 --json\n"
      "  nocturne predict examples/mnist.json --machine epyc-9654     as 'nocturne machine import' described it");
}

/// NotFound where nothing that was measured says anything of the space.
ExitCode run(const PredictOptions& options, Context& context) {
  const tuner::Installation installation = tuner::find_installation();
  const auto frameworks = frameworks_here(context, installation);
  const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
  const auto spec = tuner::load_campaign(options.file, measure::facts_of(machine), frameworks.get());
  if (!spec) return complain(context, ExitCode::Usage, tuner::to_text(spec.error()));
  if (spec->objective.target)
    return complain(context, ExitCode::Usage, "epochs to an accuracy are measured, not predicted: ask for 'time'");
  const auto store = open_database(context);
  const bool here = options.machine == kThisMachine;
  tuner::PredictionWishes wishes =
      here ? wishes_of(store, measure::fingerprint_of(machine)) : wishes_of(context, store, options.machine);
  wishes.epochs = options.epochs;
  wishes.count = static_cast<std::size_t>(options.count);
  const auto ranking = value_or_refuse(context, ExitCode::NotFound, tuner::predict_ranking(store, *spec, wishes));
  if (ranking.candidates < 2) return complain(context, ExitCode::NotFound, "the space holds the default alone");
  const PredictionPage page{*spec, ranking, here ? "this machine" : options.machine,
                            settling_command(ranking, options.file)};
  if (context.json)
    print_json(context, "predict", prediction_json(page));
  else
    print_prediction(page, context);
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_predict(CLI::App& subcommand) {
  return add_options<PredictOptions>(subcommand);
}

}  // namespace nocturne::cli
