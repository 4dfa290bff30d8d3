// `nocturne compare A B…`: configurations of a campaign in columns, on demand measured in turns.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/comparison/planned_looks.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/campaign_source.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/comparison_page.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> sides;  ///< words; the first is the reference
  CampaignSourceOptions source;
  bool measure = false;
  measure::ComparisonPolicy policy;
  std::string time;  ///< for all of it; empty: not bounded
};

constexpr std::size_t kMostSides = 16;  // columns that somebody reads

using Sides = std::vector<space::Configuration>;

Sides read_sides(const Context& context, const db::Store* store, const CampaignSource& source,
                 const std::vector<std::string>& words) {
  Sides sides;
  for (const std::string& word : words) {
    auto configuration = configuration_of_word(context, store, source, word);
    if (!configuration) refuse(context, configuration.error().code, configuration.error().sentence);
    const auto twin = std::ranges::find(sides, *configuration);
    if (twin != sides.end()) {
      refuse(context, ExitCode::Usage,
             fmt::format("'{}' and '{}' are the same configuration; '{}' measures one against itself",
                         words[static_cast<std::size_t>(twin - sides.begin())], word,
                         tuner::command_text({"noise", "FILE"})));
    }
    sides.push_back(std::move(*configuration));
  }
  return sides;
}

/// Why two that are not the same have no verdict.
std::string why_no_gain(const report::SideFacts& reference, const report::SideFacts& side) {
  if (side.trial && !side.trained()) return "cannot run";
  if (reference.trial && !reference.trained()) return "the reference cannot run";
  return "not compared";
}

ComparisonPage page_of(const db::Store& store, db::CampaignSummary campaign, const Sides& sides,
                       const std::vector<std::string>& words) {
  ComparisonPage page{.campaign = std::move(campaign), .objective = {}, .sides = {}};
  page.objective = tuner::objective_of(page.campaign.spec);
  const auto comparisons = store.comparisons(page.campaign.id);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    auto facts = report::side_facts(store, page.campaign.id, page.objective, sides[i]);
    ComparedSide side{.word = words[i], .facts = std::move(facts), .gain = {}, .no_gain = {}};
    if (i > 0) {
      side.gain = tuner::stored_gain(comparisons, sides.front(), sides[i], page.objective.primary);
      if (!side.gain) side.no_gain = why_no_gain(page.sides.front().facts, side.facts);
    }
    page.sides.push_back(std::move(side));
  }
  return page;
}

ExitCode print_page(const Context& context, const db::Store& store, db::CampaignSummary campaign, const Sides& sides,
                    const CompareOptions& options) {
  const auto page = page_of(store, std::move(campaign), sides, options.sides);
  if (context.json)
    print_json(context, "compare", comparison_json(page));
  else
    print_comparison(context, page);
  const auto compared = std::span(page.sides).subspan(1);
  if (options.measure) {
    return std::ranges::any_of(compared, [](const ComparedSide& side) { return side.gain.has_value(); })
               ? ExitCode::Ok
               : ExitCode::Negative;
  }
  const bool known =
      std::ranges::any_of(page.sides, [](const ComparedSide& side) { return side.facts.trial.has_value(); });
  return known ? ExitCode::Ok : ExitCode::NotFound;
}

ExitCode compare_stored(const CompareOptions& options, Context& context) {
  const auto store = open_database(context);
  const auto source =
      find_campaign_source(context, &store, options.source, measure::facts_of(measure::probe_machine_cheaply()));
  const auto sides = read_sides(context, &store, source, options.sides);
  if (!source.stored)
    refuse(context, ExitCode::NotFound, "nothing of this campaign was measured yet; --measure does it");
  return print_page(context, store, *source.stored, sides, options);
}

/// Campaign and sides are read before anything is written: a wrong word leaves no database behind.
struct ToCompare {
  CampaignSource source;
  Sides sides;
};
ToCompare read_comparison(const CompareOptions& options, const Context& context, const space::Facts& facts) {
  const auto known = open_known_database(context);
  const db::Store* reading = known ? &*known : nullptr;
  auto source = find_campaign_source(context, reading, options.source, facts);
  read_spec(context, source, facts);
  auto sides = read_sides(context, reading, source, options.sides);
  return {.source = std::move(source), .sides = std::move(sides)};
}

ExitCode compare_measured(const CompareOptions& options, Context& context) {
  const auto time = time_limit(context, options.time);
  MeasurementContext measuring(context);
  auto read = read_comparison(options, context, measuring.facts());
  tuner::CampaignSpec& spec = *read.source.spec;
  measuring.measure_as_noise_says(spec);
  measuring.begin(context.database());
  const auto executor = measuring.make_executor(spec);
  tuner::Session session = measuring.make_session(spec, *executor);
  tuner::SideBySideSettings settings{.policy = options.policy};
  if (time) settings.end = measuring.clock().steady() + *time;
  const auto result = tuner::SideBySide(session).run(read.sides, settings);
  measuring.display().clear();
  if (result.out_of_time && !context.json) *context.err << "The time is over; the same command again goes on.\n";
  const ExitCode code =
      print_page(context, measuring.store(), measuring.store().load_campaign(spec.name), read.sides, options);
  return result.interrupted ? measuring.interruption_code() : code;
}

void setup(CLI::App& subcommand, CompareOptions& options) {
  add_value(subcommand, "side", options.sides, "A B...",
            "A trial's number, 'best', 'default', settings (name=value,…; the rest as in the default), or an "
            "exported profile; the first is the reference")
      ->required()
      ->expected(2, static_cast<int>(kMostSides));
  add_campaign_source(subcommand, options.source);
  subcommand.add_flag("--measure", options.measure, "Measure them in turns, as far as that is not done yet");
  add_pair_options(subcommand, options.policy);
  add_value(subcommand, "--time", options.time, "DURATION",
            "Begin no trial and no pair that would end later than this: 10min", time_span());
  subcommand.footer(
      "Without --measure: what the database knows. Times are those of the trials, with standard errors. Trials are\n"
      "not measured in turns, and a machine drifts between them: only the last rows say which is faster. FASTER,\n"
      "SLOWER, SAME (within the campaign's margin) and UNDECIDED come from pairs that were alive together, with the\n"
      "gain's interval; that any verdict of one call is wrong has a chance of at most 5 %.\n"
      "\n"
      "With --measure each configuration becomes a trial of the campaign, and each is measured against the first:\n"
      "fresh processes, both alive, in alternating slices; blocks of a pair each, in random order. What was measured\n"
      "counts, and the same command again goes on. 'best' names such pairs of best and default beside the campaign's\n"
      "own verdict, which they do not replace: nothing checks here how a configuration trains. Exit code 1: none\n"
      "could be compared with the first.\n"
      "\n"
      "Examples:\n"
      "  nocturne compare default best\n"
      "  nocturne compare 0 12 27 --campaign mnist-evening\n"
      "  nocturne compare default precision=bf16,threads=1 --measure --time 10min\n"
      "  nocturne compare framework=tensorflow-1.14 framework=tensorflow-2.1 --campaign paper.json --measure\n");
}

/// Negative: with --measure, none of them could be compared with the first. NotFound: without it, none was measured.
ExitCode run(const CompareOptions& options, Context& context) {
  return options.measure ? compare_measured(options, context) : compare_stored(options, context);
}

}  // namespace

SubcommandAction add_compare(CLI::App& subcommand) {
  return add_options<CompareOptions>(subcommand);
}

}  // namespace nocturne::cli
