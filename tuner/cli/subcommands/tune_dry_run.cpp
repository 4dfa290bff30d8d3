#include "tuner/cli/subcommands/tune_dry_run.hpp"

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/preview/ahead.hpp"

namespace nocturne::cli {
namespace {

nlohmann::json planned_json(const tuner::CampaignSpec& spec, const tuner::Ahead& ahead,
                            const tuner::KnownCampaign& known, const std::vector<tuner::PlannedStep>& steps) {
  const auto step = [](const tuner::PlannedStep& each) -> nlohmann::json {
    return {{"what", each.what}, {"detail", each.detail}, {"seconds", or_null(each.seconds)}};
  };
  return {{"campaign", spec.name},
          {"state", known.complete                       ? "complete"
                    : known.finished + known.pending > 0 ? "goes_on"
                                                         : "new"},
          {"finished", known.finished},
          {"pending", known.pending},
          {"steps", json_list(steps, step)},
          {"download_bytes", ahead.environments.download_bytes},
          {"disk_bytes", ahead.environments.new_disk_bytes},
          {"budget_seconds", or_null(ahead.forecast.budget_seconds)},
          {"seconds", or_null(ahead.forecast.seconds)},
          {"default", spec.space.default_configuration().to_json()}};
}

void print_planned_steps(const Context& context, const std::vector<tuner::PlannedStep>& steps) {
  Table table({{"", Align::Right}, {"step"}, {"about", Align::Right}, {"what", Align::Left, Fit::Wraps}});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const tuner::PlannedStep& step = steps[i];
    table.add({fmt::format("{}", i + 1), Cell(step.what, Style::Strong),
               step.seconds ? seconds_text(*step.seconds) : "not known", step.detail});
  }
  table.print(context);
}

void print_altogether(const Context& context, const tuner::Ahead& ahead) {
  std::ostream& out = *context.out;
  const auto whole = ahead.forecast.budget_seconds ? ahead.forecast.budget_seconds : ahead.forecast.seconds;
  out << fmt::format("\nAltogether {}; {} to download.", whole ? "about " + seconds_text(*whole) : "without an end",
                     bytes_text(ahead.environments.download_bytes));
  out << (ahead.costs.trials == 0 ? " Times are assumed: no such trial was measured here yet.\n"
                                  : fmt::format(" Times rest on {} trials measured here.\n", ahead.costs.trials));
}

}  // namespace

ExitCode print_plan(const Context& context, const tuner::CampaignSpec& spec, const tuner::Frameworks& frameworks,
                    const measure::MachineFacts& machine, bool unseen) {
  const auto store = open_known_database(context);
  const auto fingerprint = measure::fingerprint_of(machine);
  const db::Store* known_store = store ? &*store : nullptr;
  const auto ahead = tuner::look_ahead(spec, frameworks, known_store, fingerprint, std::chrono::system_clock::now());
  const auto known = tuner::known_campaign_of(spec, known_store, fingerprint);
  auto steps = tuner::plan_of(spec, ahead, known);
  if (unseen) {
    steps.insert(steps.begin(), {.what = "look",
                                 .detail = "your command runs once as it is; where its steps are seen, a trial takes "
                                           "a part of its time, and more may vary than is counted below"});
  }
  if (context.json) {
    print_json(context, "tune-dry-run", planned_json(spec, ahead, known, steps));
    return ExitCode::Ok;
  }
  *context.out << coloured(spec.name, Style::Strong, context.colour_out());
  if (known.complete) {
    *context.out << " was completed before: nothing would be measured. --fresh measures again.\n";
    return ExitCode::Ok;
  }
  *context.out << (known.finished + known.pending > 0
                       ? fmt::format(" goes on: {} trials are known.\n\n", known.finished)
                       : std::string(" would begin:\n\n"));
  print_planned_steps(context, steps);
  print_altogether(context, ahead);
  if (!spec.shipped_build.empty()) *context.out << fmt::format("Note: {}.\n", spec.shipped_build);
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
