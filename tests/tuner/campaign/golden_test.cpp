// Golden campaigns: the same outcomes must lead to the same proposals, byte for byte and in the same order.
//
// Each file of golden/ is one campaign as JSON lines: a header (the campaign, the facts of its machine), then in the
// order of happening what was asked ("ask") and what the executor answered ("prepare", "run"). The answers were drawn
// once, by the formula below, and are stored, so that a replay depends on no machine and no database format.
//
// To make them anew, on purpose and said so in the commit:   nocturne_tuner_test "[golden-remake]"

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "space/digest.hpp"
#include "space/facts_json.hpp"
#include "space/file_contents.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/installation/fake_pythons.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kGoldenFolder = fs::path(NOCTURNE_SOURCE_DIR) / "tests/tuner/campaign/golden";

/// Uniform in [0, 1), the same for the same text.
double draw(const std::string& text) {
  constexpr double kRange = 281474976710656.0;  // 2⁴⁸
  return static_cast<double>(std::stoull(space::short_digest(text).substr(0, 12), nullptr, 16)) / kRange;
}

std::int64_t whole_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

std::string value_of(const space::Configuration& configuration, const char* name) {
  const space::Value* value = configuration.find(name);
  return value == nullptr ? "" : space::to_text(*value);
}

double number_of(const space::Configuration& configuration, const char* name, double otherwise) {
  const std::string text = value_of(configuration, name);
  return text.empty() ? otherwise : std::stod(text);
}

/// What an imaginary machine answers. Used only to make the files anew.
struct Formula {
  double start_seconds = 0;             ///< scale of what a process takes before its first step
  std::set<std::size_t> killed_runs{};  ///< by count over the whole campaign: the session ends there
  std::int64_t memory_limit_bytes = 0;

  [[nodiscard]] Json prepare(const space::Configuration& configuration, bool is_new) const {
    const std::string framework = value_of(configuration, "framework");
    const double seconds = !is_new ? 0.01 : framework.empty() ? 0.02 : 20 + 60 * draw("install " + framework);
    Json answer = {{"took_ns", whole_ns(seconds)}, {"outcome", "ok"}};
    if (framework == "paddle-3.3" || value_of(configuration, "compiler") == "clang++-19") {
      answer["outcome"] = "build_failed";
      answer["reason"] = "it cannot be installed: " + framework;
    } else if (value_of(configuration, "graph_compiler") == "hybrid") {
      answer["outcome"] = "unsupported";
      answer["reason"] = "this graph compiler knows no such layer";
    }
    return answer;
  }

  [[nodiscard]] Json run(const space::Configuration& configuration, std::uint64_t seed, std::int64_t steps) const {
    const std::string framework = value_of(configuration, "framework");
    const double batch = number_of(configuration, "batch", 128);
    double step = 0.06 * std::pow(batch / 128, 0.9) / std::pow(number_of(configuration, "threads", 1), 0.6);
    for (const auto& [name, value] : configuration.values()) {
      if (name == "batch" || name == "threads") continue;
      step *= std::exp(0.3 * (draw(name + "=" + space::to_text(value)) - 0.5));
    }
    step *= std::exp(0.2 * (draw(framework + " " + value_of(configuration, "precision")) - 0.5));
    const std::string process = fmt::format("{} {}", configuration.identity(), seed);
    step *= std::exp(0.08 * (draw("between-process spread " + process) - 0.5));
    const std::string graph = value_of(configuration, "graph_compiler");
    const double import = start_seconds * (0.2 + draw("import " + framework));
    const double compile = graph.empty() || graph == "none" ? 0.05 : 2 + 6 * draw("compile " + graph);
    const auto mebibytes = 200 + 900 * draw("memory " + framework) +
                           batch * (2 + 16 * draw("images " + framework + value_of(configuration, "precision")));
    const std::int64_t peak = static_cast<std::int64_t>(mebibytes) << 20;
    Json answer = {{"outcome", "ok"},
                   {"import_ns", whole_ns(import)},
                   {"compile_ns", whole_ns(compile)},
                   {"first_step_ns", whole_ns(2 * step)},
                   {"step_ns", whole_ns(step)},
                   {"jitter_ns", whole_ns(0.02 * step * draw("jitter " + process))},
                   {"peak_bytes", peak},
                   {"wall_ns", whole_ns(import + compile + static_cast<double>(steps + 2) * step)}};
    if (peak > memory_limit_bytes) {
      answer["outcome"] = "out_of_memory";
      answer["reason"] = "it exceeded its limit";
      answer["peak_bytes"] = memory_limit_bytes;
    } else if (draw("crash " + configuration.identity()) < 0.07) {
      answer["outcome"] = "crashed";
      answer["reason"] = "it died of signal 11";
    }
    return answer;
  }
};

/// One golden campaign: what its file says, and what comes of it when it is simulated.
struct Golden {
  Json header;
  std::vector<Json> tape;            ///< recorded answers of the executor, in order; empty while recording
  const Formula* formula = nullptr;  ///< answers are drawn from it and recorded; null: they are replayed
  std::vector<Json> simulated;       ///< lines of this run without header and asks
  std::vector<Json> asks;
  bool exhausted = false;  ///< the campaign wanted an answer that was not recorded
  std::size_t next = 0, runs = 0;
  std::set<std::string> prepared;
};

/// Answers from the tape, or from the formula; what happens takes the clock's time.
class TapeExecutor final : public tuner::Executor {
 public:
  TapeExecutor(const tuner::CampaignSpec& spec, Golden& golden, ManualClock& clock, tuner::Interruption& interruption,
               std::size_t session)
      : spec_(spec), golden_(golden), clock_(clock), interruption_(interruption), session_(session) {}

  std::optional<std::int64_t> trial;  ///< that is prepared next; empty: none, a preflight

  std::expected<tuner::PreparedWorker, tuner::PreparationFailure> prepare(const space::Configuration& configuration,
                                                                          std::stop_token stop) override {
    if (stop.stop_requested()) return std::unexpected(tuner::PreparationFailure{space::Outcome::Killed, "", ""});
    const std::string stack = value_of(configuration, "framework") + value_of(configuration, "compiler") +
                              value_of(configuration, "optimisation") + value_of(configuration, "march") +
                              value_of(configuration, "lto");
    const Json answer = take("prepare", [&](const Formula& formula) {
      Json drawn = formula.prepare(configuration, !golden_.prepared.contains(stack));
      if (trial) drawn["trial"] = *trial;
      return drawn;
    });
    const auto outcome = space::outcome_from_text(answer.value("outcome", "killed")).value();
    if (outcome != space::Outcome::Ok)
      return std::unexpected(tuner::PreparationFailure{outcome, answer.value("reason", ""), ""});
    golden_.prepared.insert(stack);
    tuner::PreparedWorker result;
    result.argv = {"/nowhere/worker"};
    result.worker = "worker of " + stack;
    result.schedule = measure::schedule_of(spec_.workload, configuration, 128, protocol::PartialBatch::Train).value();
    return result;
  }

  measure::RunPlan plan(const space::Configuration& configuration, const tuner::PreparedWorker& with,
                        const tuner::RunOrder& order) override {
    measure::RunPlan plan;
    plan.id = fmt::format("run-{}-{}", session_, next_id_++);
    plan.purpose = order.purpose;
    plan.folder = "/nowhere/" + plan.id;
    plan.argv = with.argv;
    plan.request = tuner::request_of(configuration, order);
    return plan;
  }

  space::Run run(const measure::RunPlan& plan, const measure::RunControl& control) override {
    space::Run run;
    run.id = plan.id;
    run.purpose = plan.purpose;
    run.folder = plan.folder.string();
    run.seed = static_cast<std::int64_t>(plan.request.seed);
    run.started_unix_ns = 1'000'000'000;
    if (control.stop.stop_requested()) return run;
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    const Json answer = take("run", [&](const Formula& formula) {
      if (formula.killed_runs.contains(golden_.runs)) return Json{{"outcome", "killed"}};
      return formula.run(configuration, plan.request.seed, plan.request.steps);
    });
    ++golden_.runs;
    run.outcome = space::outcome_from_text(answer.value("outcome", "killed")).value();
    run.reason = answer.value("reason", "");
    if (run.outcome == space::Outcome::Killed) {
      interruption_.abandon();
      return run;
    }
    fill(answer, plan.request.steps, run);
    return run;
  }

  measure::PairResult run_pair(const measure::PairPlan&, const measure::PairControl&) override { return {}; }
  [[nodiscard]] std::int64_t memory_limit_bytes() const override {
    return golden_.header.at("memory_limit_bytes").get<std::int64_t>();
  }
  [[nodiscard]] std::map<std::string, double> install_seconds(std::int64_t) const override {
    return golden_.header.at("install_seconds").get<std::map<std::string, double>>();
  }

 private:
  template <typename Draw>
  Json take(const char* kind, const Draw& draw_anew) {
    Json line;
    if (golden_.formula != nullptr) {
      line = {{kind, draw_anew(*golden_.formula)}};
    } else if (golden_.next < golden_.tape.size() && golden_.tape[golden_.next].contains(kind)) {
      line = golden_.tape[golden_.next++];
    } else {
      golden_.exhausted = true;
      interruption_.abandon();
      return Json::object();
    }
    golden_.simulated.push_back(line);
    clock_.pass(std::chrono::nanoseconds(line[kind].value("took_ns", line[kind].value("wall_ns", std::int64_t{0}))));
    return line[kind];
  }

  static void fill(const Json& answer, std::int64_t steps, space::Run& run) {
    const auto time = [&answer](const char* name) { return std::chrono::nanoseconds(answer.value(name, 0LL)); };
    run.wall = time("wall_ns");
    run.memory = space::Memory{.peak_rss_bytes = answer.value("peak_bytes", std::int64_t{0}), .device_bytes = 0};
    run.phases = {{.name = "import", .wall = time("import_ns"), .cpu = {}, .finished = true},
                  {.name = "compile", .wall = time("compile_ns"), .cpu = {}, .finished = true},
                  {.name = "first_step", .wall = time("first_step_ns"), .cpu = {}, .finished = true}};
    if (run.outcome != space::Outcome::Ok) return;
    for (std::int64_t step = 1; step <= steps; ++step) {
      const auto wall = time("step_ns") + (step * 7 % 5 - 2) * time("jitter_ns");
      run.samples.push_back({.first_step = step, .steps = 1, .wall = wall, .cpu = wall, .data_wait = {}, .loss = 0.5});
    }
  }

  const tuner::CampaignSpec& spec_;
  Golden& golden_;
  ManualClock& clock_;
  tuner::Interruption& interruption_;
  std::size_t session_;
  std::size_t next_id_ = 0;
};

/// Ends a session with its search: the finals are no matter here.
struct GoldenWatcher final : tuner::Observer {
  GoldenWatcher(Golden& golden_used, TapeExecutor& executor_used, tuner::Interruption& interruption_used)
      : golden(golden_used), executor(executor_used), interruption(interruption_used) {}
  void preparing(std::int64_t number, const space::Configuration&) override { executor.trial = number; }
  void search_ended(const std::string& sentence) override {
    golden.simulated.push_back({{"ended", sentence}});
    interruption.abandon();
  }
  Golden& golden;
  TapeExecutor& executor;
  tuner::Interruption& interruption;
};

tuner::CampaignSpec spec_of(const Json& header, const tuner::Frameworks& frameworks) {
  auto spec =
      tuner::parse_campaign(header.at("campaign").dump(), "golden.json", fs::path(NOCTURNE_SOURCE_DIR) / "examples",
                            space::facts_from_json(header.at("facts")), &frameworks);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// Without the digits in which compilers and mathematical libraries differ.
Json line_of(const db::Ask& ask, const db::AskAnswer& asked) {
  Json line = {{"source", ask.strategy},
               {"seed", ask.seed},
               {"number", asked.number},
               {"configuration", asked.configuration.to_json()},
               {"purpose", space::to_text(asked.purpose)},
               {"reason", asked.reason}};
  if (asked.predicted_log_bound) line["log_bound"] = fmt::format("{:.6g}", *asked.predicted_log_bound);
  if (asked.predicted_log_margin) line["log_margin"] = fmt::format("{:.6g}", *asked.predicted_log_margin);
  return {{"ask", line}};
}

/// Plays sessions until the search ended by itself, then reads what was asked.
void play(Golden& golden) {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks({.source_root = NOCTURNE_SOURCE_DIR,
                                      .user_recipes = {},
                                      .environments = pythons.environments(),
                                      .pythons = [places = pythons.places()] { return places; }});
  const tuner::CampaignSpec spec = spec_of(golden.header, frameworks);
  std::vector<space::Configuration> enqueued;
  for (const Json& each : golden.header.at("enqueued"))
    enqueued.push_back(space::Configuration::from_json(each).value());
  const auto preflight = golden.header.at("preflight").get<bool>();
  const test::TemporaryFolder folder;
  ManualClock clock;
  bool interrupted = true;
  for (std::size_t session = 0; interrupted && !golden.exhausted && session < 10; ++session) {
    auto store = db::Store::open(folder.path() / "golden.db", db::Mode::ReadWrite);
    tuner::Interruption interruption;
    TapeExecutor executor(spec, golden, clock, interruption, session);
    GoldenWatcher watcher(golden, executor, interruption);
    tuner::Session one_session{.spec = spec,
                               .store = store,
                               .executor = executor,
                               .observer = watcher,
                               .clock = clock,
                               .interruption = interruption,
                               .fingerprint_now = {},
                               .slot_folder = folder.path(),
                               .wanted = enqueued,
                               .preflight = preflight ? tuner::PreflightMode::First : tuner::PreflightMode::No};
    const auto ended = tuner::Campaign(one_session, false).run();
    interrupted = ended.because == "interrupted";
  }
  CHECK_FALSE(golden.exhausted);
  const auto store = db::Store::open(folder.path() / "golden.db", db::Mode::ReadOnly);
  for (const db::Exchange& exchange : store.exchanges(store.load_campaign(spec.name).id)) {
    const auto* const ask = std::get_if<db::Ask>(&exchange);
    if (ask == nullptr) continue;
    for (const db::AskAnswer& asked : ask->answer) golden.asks.push_back(line_of(*ask, asked));
  }
}

/// Each ask before the answers to its trial.
std::string text_of(const Golden& golden) {
  std::string text = golden.header.dump() + "\n";
  std::size_t next = 0;
  for (const Json& line : golden.simulated) {
    const std::int64_t trial = line.contains("prepare") ? line["prepare"].value("trial", std::int64_t{-1}) : -1;
    while (next < golden.asks.size() && golden.asks[next]["ask"]["number"] <= trial)
      text += golden.asks[next++].dump() + "\n";
    text += line.dump() + "\n";
  }
  for (; next < golden.asks.size(); ++next) text += golden.asks[next].dump() + "\n";
  return text;
}

struct GoldenCase {
  std::string name;
  std::string example;
  Json changes{};  ///< laid over the example's file
  Formula formula{};
  bool preflight = false;
  std::vector<std::pair<std::string, space::Value>> enqueued{};  ///< the default, with this value
};

std::vector<GoldenCase> golden_cases() {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  return {
      {.name = "quickstart",
       .example = "mnist.json",
       .formula = {.start_seconds = 2, .killed_runs = {}, .memory_limit_bytes = 4 * kGibibyte}},
      {.name = "ten-frameworks",
       .example = "modern-mnist-cpu.json",
       .formula = {.start_seconds = 40, .killed_runs = {}, .memory_limit_bytes = 3 * kGibibyte},
       .preflight = true},
      {.name = "own-command",
       .example = "own-command.json",
       .formula = {.start_seconds = 3, .killed_runs = {}, .memory_limit_bytes = 4 * kGibibyte},
       .enqueued = {{"threads", std::int64_t{2}}, {"batch", std::int64_t{256}}}},
      {.name = "resumed",
       .example = "modern-mnist-cpu.json",
       .changes = {{"budget", {{"trials", 48}}}},
       .formula = {.start_seconds = 10, .killed_runs = {2, 4, 30}, .memory_limit_bytes = 3 * kGibibyte}},
  };
}

Golden recorded(const GoldenCase& each) {
  const auto text = space::read_file(fs::path(NOCTURNE_SOURCE_DIR) / "examples" / each.example);
  REQUIRE(text);
  Golden golden;
  golden.formula = &each.formula;
  Json campaign = Json::parse(*text, nullptr, true, true);
  campaign.erase("$schema");
  if (!each.changes.is_null()) campaign.merge_patch(each.changes);
  if (campaign.contains("run")) campaign["run"].erase("memory");  // the header's
  Json installs = Json::object();
  for (const Json& parameter : campaign["space"]["parameters"]) {
    if (parameter["name"] != "framework") continue;
    for (const Json& value : parameter["values"]) {
      const auto name = value.get<std::string>();
      if (name != "onednn") installs[name] = std::floor(20 + 160 * draw("seconds of " + name));
    }
  }
  golden.header = {{"campaign", campaign},
                   {"facts", space::to_json(sample_facts())},
                   {"memory_limit_bytes", each.formula.memory_limit_bytes},
                   {"install_seconds", installs},
                   {"preflight", each.preflight},
                   {"enqueued", Json::array()}};
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks({.source_root = NOCTURNE_SOURCE_DIR,
                                      .user_recipes = {},
                                      .environments = pythons.environments(),
                                      .pythons = [places = pythons.places()] { return places; }});
  for (const auto& [name, value] : each.enqueued) {
    space::Configuration changed = spec_of(golden.header, frameworks).space.default_configuration();
    changed.set(name, value);
    golden.header["enqueued"].push_back(changed.to_json());
  }
  play(golden);
  return golden;
}

void check_same(const std::string& expected, const std::string& now) {
  std::istringstream expected_lines(expected), lines(now);
  std::string before, line;
  for (std::size_t number = 1; std::getline(expected_lines, before); ++number) {
    line.clear();
    std::getline(lines, line);
    INFO("line " << number);
    REQUIRE(line == before);
  }
  CHECK(now == expected);  // nothing beyond
}

}  // namespace

TEST_CASE("the same outcomes lead to the same proposals, byte for byte", "[campaign][golden]") {
  for (const GoldenCase& each : golden_cases()) {
    INFO(each.name);
    const auto expected = space::read_file(kGoldenFolder / (each.name + ".jsonl"));
    REQUIRE(expected);
    Golden golden;
    std::istringstream lines(*expected);
    std::string line;
    REQUIRE(std::getline(lines, line));
    golden.header = Json::parse(line);
    while (std::getline(lines, line)) {
      Json parsed = Json::parse(line);
      if (parsed.contains("prepare") || parsed.contains("run")) golden.tape.push_back(std::move(parsed));
    }
    play(golden);
    check_same(*expected, text_of(golden));
  }
}

TEST_CASE("golden campaigns are made anew", "[.golden-remake]") {
  for (const GoldenCase& each : golden_cases()) {
    const Golden golden = recorded(each);
    std::ofstream(kGoldenFolder / (each.name + ".jsonl")) << text_of(golden);
  }
  SUCCEED();
}

}  // namespace nocturne::test
