#include "tests/tuner/cli/cli_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <fstream>

#include "tests/tuner/cli/check_document.hpp"
#include "tuner/cli/cli.hpp"

namespace nocturne::test {
namespace {

using std::chrono::nanoseconds;

struct Plan {
  std::string precision;
  std::int64_t threads;
  double epoch_s;  ///< 0: crashed
};

constexpr double kSteps = 100;  // of an epoch: 10,000 examples in batches of 100

space::Configuration configuration_of(const Plan& plan) {
  space::Configuration configuration;
  configuration.set("batch", std::int64_t{100});
  configuration.set("precision", plan.precision);
  configuration.set("threads", plan.threads);
  return configuration;
}

db::CampaignRecord campaign_record(const NightOptions& options) {
  db::CampaignRecord record{.name = options.name,
                            .identity = "identity-of-" + options.name,
                            .spec = {},
                            .strategy = "random",
                            .seed = 1,
                            .fingerprint = {.hash = options.machine.identity(), .fields = options.machine.to_json()},
                            .parameters = {},
                            .fresh = options.pass > 1};
  record.spec = {
      {"campaign", options.name},
      {"workload",
       {{"network", "mnist_cnn"}, {"data", "mnist"}, {"optimizer", "adadelta"}, {"training_examples", 10000}}},
      {"objective", {{"minimise", "time"}, {"epochs", {1, 12}}, {"primary", 1}}}};
  if (options.artifact.empty()) record.spec["worker"] = {{"command", {"/bin/true", "--quiet"}}};
  for (const char* name : {"batch", "precision", "threads"}) {
    record.parameters.push_back({.name = name,
                                 .stage = space::Stage::Run,
                                 .domain = {{"values", {1, 2}}},
                                 .default_value = 1,
                                 .active_if = "",
                                 .unit = "",
                                 .description = "A parameter of the test."});
  }
  return record;
}

space::Run run_of(const CliFixture& cli, const NightOptions& options, const Plan& plan, std::int64_t number,
                  nanoseconds age) {
  space::Run run;
  run.id = options.name + (options.pass > 1 ? std::to_string(options.pass) : "") + "-run-" + std::to_string(number);
  run.outcome = plan.epoch_s > 0 ? space::Outcome::Ok : space::Outcome::Crashed;
  run.reason = plan.epoch_s > 0 ? "" : "signal 11 in phase first_step";
  run.folder = (cli.runs() / run.id).string();
  run.command = "cd " + run.folder + " && /bin/true --request request.json";
  run.artifact = options.artifact;
  run.started_unix_ns = (std::chrono::system_clock::now().time_since_epoch() - age).count();
  run.wall = std::chrono::seconds(7);
  run.cpu = std::chrono::seconds(13);
  run.ready = {{"threads", plan.threads}};
  run.phases = {{.name = "import", .wall = std::chrono::seconds(1), .cpu = std::chrono::seconds(1), .finished = true}};
  if (plan.epoch_s > 0) {
    const auto step = nanoseconds(static_cast<std::int64_t>(plan.epoch_s / kSteps * 1e9));
    run.phases.push_back({.name = "first_step", .wall = step, .cpu = step, .finished = true});
    for (std::int64_t i = 0; i < 12; ++i) {
      run.samples.push_back({.first_step = i + 1,
                             .steps = 1,
                             .wall = step,
                             .cpu = step * plan.threads,
                             .data_wait = {},
                             .loss = 2.3 - 0.1 * static_cast<double>(i)});
    }
    for (int i = 0; i < options.epoch_starts; ++i)
      run.phases.push_back(
          {.name = "epoch_start", .wall = std::chrono::milliseconds(200), .cpu = {}, .finished = true});
    for (int i = 0; i < options.epoch_ends; ++i)
      run.phases.push_back({.name = "epoch_end", .wall = std::chrono::milliseconds(300), .cpu = {}, .finished = true});
    run.memory = space::Memory{.peak_rss_bytes = 300 << 20, .device_bytes = 0};
  } else {
    run.phases.push_back({.name = "first_step", .wall = {}, .cpu = {}, .finished = false});
    run.log_tail = "about to\x1b[31m crash\nSegmentation fault\n";
  }
  run.device = options.device;
  run.load = {.loadavg_before = 0.5,
              .loadavg_after = 1.5,
              .cpu_pressure = 0.01,
              .memory_pressure = {},
              .io_pressure = {},
              .steal = 0.0,
              .other_cpu = 0.02};
  std::filesystem::create_directories(run.folder);
  std::ofstream(std::filesystem::path(run.folder) / "events.jsonl") << std::string(1000, 'x');
  return run;
}

db::TrialResult result_of(const Plan& plan) {
  if (plan.epoch_s <= 0)
    return {.outcome = space::Outcome::Crashed, .reason = "signal 11 in phase first_step", .estimate = {}, .parts = {}};
  return {.outcome = space::Outcome::Ok,
          .reason = "",
          .estimate = space::Estimate{.value = 1 + plan.epoch_s, .standard_error = 0.01, .runs = 1},
          .parts = space::Parts{.import = 1, .steps_per_epoch = kSteps, .steady_step = plan.epoch_s / kSteps}};
}

void compare_best(db::Store& store, db::CampaignId campaign, const Plan& best, const Plan& baseline,
                  const NightOptions& options) {
  const auto comparison = store.begin_comparison({.campaign = campaign,
                                                  .candidate = configuration_of(best),
                                                  .baseline = configuration_of(baseline),
                                                  .role = "verify"});
  store.save_verdict({.comparison = comparison,
                      .horizon_epochs = 1,
                      .primary = true,
                      .verdict = options.verdict_high < 0 ? "faster" : "undecided",
                      .log_ratio_mean = options.verdict_mean,
                      .log_ratio_low = options.verdict_low,
                      .log_ratio_high = options.verdict_high,
                      .confidence = 0.95,
                      .pairs = 6});
}

}  // namespace

CliFixture::CliFixture() {
  std::filesystem::create_directories(data());
}

cli::ExitCode CliFixture::nocturne(const std::vector<std::string>& words) {
  out_.str("");
  err_.str("");
  std::istringstream in(input);
  cli::Context context;
  context.in = &in;
  context.out = &out_;
  context.err = &err_;
  context.columns = columns;
  context.environment = variables;
  context.environment["NOCTURNE_DATA"] = data().string();
  const cli::ExitCode code = cli::run_command_line(words, context);
  check_document(words, out());
  return code;
}

nlohmann::json CliFixture::json() const {
  auto document = nlohmann::json::parse(out(), nullptr, false);
  if (document.is_discarded()) FAIL("not JSON: " << out() << err());
  return document;
}

db::Store CliFixture::open() const {
  return db::Store::open(database(), db::Mode::ReadWrite);
}

db::Store fill(const CliFixture& cli, const NightOptions& options, nanoseconds age) {
  db::Store store = cli.open();
  const auto campaign = store.begin_or_resume_campaign(campaign_record(options));
  std::vector<Plan> plans = {{"f32", 2, 4}, {"bf16", 2, 2}, {"f32", 1, 8}, {"bf16", 1, 3.5}, {"f32", 3, 0}};
  for (auto& plan : plans) plan.epoch_s *= options.slowdown;
  db::Ask ask{.strategy = "random", .seed = 1, .count = 6, .answer = {}};
  for (std::size_t i = 0; i <= plans.size(); ++i) {
    const Plan plan = i < plans.size() ? plans[i] : Plan{"bf16", 3, 1};
    ask.answer.push_back({.number = static_cast<std::int64_t>(i), .configuration = configuration_of(plan)});
  }
  store.record_ask(campaign.id, ask);
  for (const db::AskAnswer& asked : ask.answer) {
    const auto trial = store.reserve_trial(campaign.id, {.number = asked.number,
                                                         .configuration = asked.configuration,
                                                         .fidelity = {.steps = 12},
                                                         .key = options.name + std::to_string(asked.number)});
    const auto index = static_cast<std::size_t>(asked.number);
    if (index < plans.size()) {
      const std::vector<db::RunRecord> runs = {
          {.run = run_of(cli, options, plans[index], asked.number, age), .fingerprint = options.machine.identity()}};
      store.finish_trial(trial, result_of(plans[index]), runs);
    }
  }
  if (options.verdict) compare_best(store, campaign.id, plans[1], plans[0], options);
  if (options.finished) {
    store.finish_campaign(campaign.id);
    store.release_campaign(campaign.id);
  }
  return store;
}

}  // namespace nocturne::test
