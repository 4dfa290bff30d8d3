#include "tests/support/large_campaign.hpp"

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "space/random.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/installation/fake_pythons.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::test {
namespace {

using std::chrono::nanoseconds;

constexpr const char* kMachine = "fingerprint-of-an-imagined-machine";
constexpr double kImages = 60'000;

tuner::CampaignSpec example() {
  space::Facts facts = sample_facts();
  facts.set("machine.cores", std::int64_t{64});
  facts.set("machine.threads", std::int64_t{128});
  const FakePythons pythons;
  const tuner::Frameworks frameworks({.source_root = NOCTURNE_SOURCE_FOLDER,
                                      .environments = pythons.environments(),
                                      .pythons = [places = pythons.places()] { return places; }});
  const std::filesystem::path file = std::filesystem::path(NOCTURNE_SOURCE_FOLDER) / "examples" / "mnist.json";
  auto spec = tuner::load_campaign(file, facts, &frameworks);
  if (!spec) throw std::runtime_error(tuner::to_text(spec.error()));
  return *std::move(spec);
}

bool has(const space::Configuration& configuration, const char* name, const char* value) {
  const auto* found = configuration.find(name);
  return found != nullptr && *found == space::Value(std::string(value));
}

double number(const space::Configuration& configuration, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(*configuration.find(name)));
}

/// Main effects of a few parameters, one interaction (threads with the batch), and between-process spread.
space::Parts parts_of(const space::Configuration& configuration, space::Random& random) {
  const double batch = number(configuration, "batch"), threads = number(configuration, "threads");
  const bool ours = has(configuration, "framework", "onednn");
  double step = batch * 4e-4 * (0.03 + 1 / std::min(threads, batch / 4)) + 2e-5 * threads;
  if (!ours) step *= 1.9;
  if (has(configuration, "precision", "bf16")) step *= 0.7;
  if (has(configuration, "layout", "plain")) step *= 1.25;
  if (has(configuration, "isa_cap", "avx2")) step *= 1.4;
  if (has(configuration, "wait_policy", "passive")) step *= 1.08;
  if (has(configuration, "allocator", "glibc")) step *= 1.05;
  step *= std::exp(0.03 * (random.unit() + random.unit() + random.unit() - 1.5));
  return {.import = ours ? 0.02 : 0.9,
          .data = 0.3 + 0.1 * random.unit(),
          .compile = has(configuration, "graph_compiler", "static") ? 1.5 : 0,
          .first_step_excess = 0.05 + 0.02 * random.unit(),
          .epoch_overhead = 0.02 + 0.01 * random.unit(),
          .steps_per_epoch = std::ceil(kImages / batch),
          .steady_step = step};
}

nanoseconds nanoseconds_of(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

space::Run ended_run(std::int64_t number, const space::Configuration& configuration, const db::TrialResult& result,
                     std::int64_t samples) {
  space::Run run;
  run.id = fmt::format("large-run-{}", number);
  run.folder = "/nowhere/" + run.id;
  run.command = "cd " + run.folder + " && nocturne-onednn --request request.json --events events.jsonl";
  run.artifact = "artifact-of-no-program";
  run.started_unix_ns = 1'700'000'000'000'000'000 + number * 2'000'000'000;
  run.outcome = result.outcome;
  run.reason = result.reason;
  run.wall = std::chrono::milliseconds(1900);
  run.cpu = std::chrono::milliseconds(3100);
  run.ready = {{"threads", space::to_json(*configuration.find("threads"))}, {"isa", "avx512_core_bf16"}};
  run.phases = {{.name = "import", .wall = std::chrono::milliseconds(20), .cpu = {}, .finished = true},
                {.name = "data", .wall = std::chrono::milliseconds(300), .cpu = {}, .finished = true}};
  run.memory = space::Memory{.peak_rss_bytes = 300'000'000 + number % 7 * 1'000'000, .device_bytes = 0};
  run.load = {.loadavg_before = 0.5, .loadavg_after = 1.5};
  for (std::int64_t i = 0; result.parts && i < samples; ++i) {
    const nanoseconds step = nanoseconds_of(result.parts->steady_step);
    run.samples.push_back({.first_step = i + 1, .steps = 1, .wall = step, .cpu = step, .data_wait = {}, .loss = 2.3});
  }
  return run;
}

bool fails(std::int64_t number) {
  return number % 25 == 3;
}

db::TrialResult result_of(std::int64_t number, const space::Configuration& configuration, double epochs, bool failed) {
  if (failed)
    return {.outcome = space::Outcome::Crashed, .reason = "signal 11 in phase first_step", .estimate = {}, .parts = {}};
  space::Random random(7, static_cast<std::uint64_t>(number));
  const space::Parts parts = parts_of(configuration, random);
  return {.outcome = space::Outcome::Ok,
          .reason = "",
          .estimate = space::Estimate{.value = space::total_time(parts, epochs), .standard_error = 0.01, .runs = 1},
          .parts = parts};
}

/// Those of a strategy that draws uniformly: the default first, none twice.
class Proposals {
 public:
  explicit Proposals(const space::Space& space) : space_(space) {}
  space::Configuration next(std::int64_t number) {
    if (number == 0) return remember(space_.default_configuration());
    for (;;) {
      space::Random random(1, draw_++);
      auto drawn = space_.sample(random);
      if (!drawn) throw std::runtime_error("the space has no configuration");
      if (!seen_.contains(drawn->identity())) return remember(*std::move(drawn));
      if (draw_ > 100 * (seen_.size() + 1000)) throw std::runtime_error("the space has fewer configurations");
    }
  }

 private:
  space::Configuration remember(space::Configuration configuration) {
    seen_.insert(configuration.identity());
    return configuration;
  }

  const space::Space& space_;
  std::uint64_t draw_ = 0;
  std::unordered_set<std::string> seen_;
};

db::AskAnswer asked(std::int64_t number, space::Configuration configuration) {
  db::AskAnswer result{.number = number, .configuration = std::move(configuration), .reason = "largest expected gain"};
  if (number >= 20 && number % 20 == 0) {
    result.purpose = space::Purpose::Audit;
    result.predicted_log_bound = 1.0;
    result.predicted_log_margin = 0.2;
  }
  return result;
}

void judge_best(db::Store& store, db::CampaignId campaign, const space::Configuration& baseline, double epochs) {
  const auto best = store.best(campaign);
  if (!best || best->trial.configuration == baseline) return;
  const auto comparison = store.begin_comparison(
      {.campaign = campaign, .candidate = best->trial.configuration, .baseline = baseline, .role = "verify"});
  store.save_verdict({.comparison = comparison,
                      .horizon_epochs = epochs,
                      .primary = true,
                      .verdict = "faster",
                      .log_ratio_mean = -0.5,
                      .log_ratio_low = -0.55,
                      .log_ratio_high = -0.45,
                      .pairs = 6});
}

}  // namespace

db::CampaignSummary fill(db::Store& store, const LargeCampaign& options) {
  const tuner::CampaignSpec spec = example();
  const db::CampaignRecord record{.name = spec.name,
                                  .identity = spec.identity(),
                                  .spec = spec.document,
                                  .strategy = spec.strategy.name,
                                  .seed = 1,
                                  .fingerprint = {.hash = kMachine, .fields = nlohmann::json::array()},
                                  .parameters = tuner::parameter_records(spec.space)};
  const db::CampaignId campaign = store.begin_or_resume_campaign(record).id;
  const double epochs = spec.objective.primary;
  Proposals proposals(spec.space);
  for (std::int64_t number = 0; number < static_cast<std::int64_t>(options.trials); ++number) {
    const space::Configuration configuration = proposals.next(number);
    const db::AskAnswer answer = asked(number, configuration);
    store.record_ask(campaign, {.strategy = record.strategy, .seed = 1, .count = 1, .answer = {answer}});
    const db::TrialId trial = store.reserve_trial(campaign, {.number = number,
                                                             .configuration = configuration,
                                                             .fidelity = {.steps = options.samples},
                                                             .key = fmt::format("large-{}", number)});
    const db::TrialResult result = result_of(number, configuration, epochs, options.failures && fails(number));
    db::RunRecord run{.run = ended_run(number, configuration, result, options.samples), .fingerprint = kMachine};
    run.run.purpose = answer.purpose;
    store.finish_trial(trial, result, {&run, 1});
  }
  judge_best(store, campaign, spec.space.default_configuration(), epochs);
  store.finish_campaign(campaign);
  store.release_campaign(campaign);
  return store.find_campaign(spec.name).value();
}

}  // namespace nocturne::test
