// Orders that another process carries out: `nocturne execute`, with the fake worker.

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "measure/machine/fingerprint.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/fake_worker_campaign.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/executor/order_json.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

struct ProcessAnswer {
  int code = -1;
  std::string error;
  std::optional<tuner::OrderAnswer> answer;
};

/// What a fresh process answers.
ProcessAnswer execute(const fs::path& folder, const json& order) {
  const fs::path file = folder / "order.json", errors = folder / "errors.txt";
  make_file(file, order.dump());
  const auto done = shell(fmt::format("'{}' --data '{}' execute '{}' 2> '{}'", NOCTURNE_PROGRAM,
                                      (folder / "data").string(), file.string(), errors.string()));
  ProcessAnswer executed{.code = done.code, .error = read_file(errors), .answer = {}};
  if (done.output.empty()) return executed;
  const json document = json::parse(done.output);
  for (const std::string& each : cli::deviations(document)) UNSCOPED_INFO(each);
  CHECK(cli::deviations(document).empty());
  auto answer = tuner::answer_from_json(document);
  if (!answer) FAIL(answer.error());
  executed.answer = *std::move(answer);
  return executed;
}

template <typename Answer>
Answer answer_of(const fs::path& folder, const json& document, tuner::Task task) {
  const json order = tuner::to_json({.document = document, .task = std::move(task)});
  CHECK(cli::deviations(order).empty());
  const auto executed = execute(folder, order);
  INFO(executed.error);
  REQUIRE(executed.code == 0);
  REQUIRE(executed.answer);
  return std::get<Answer>(executed.answer->result);
}

space::Configuration configuration(std::int64_t batch, const std::string& precision = "f32") {
  return space::Configuration({{"batch", batch}, {"precision", precision}});
}

/// Each order is carried out by a process of its own. The machine's fingerprint is stored before its runs are.
class ProcessSlot final : public tuner::OrderExecutor {
 public:
  ProcessSlot(fs::path folder, json document, db::Store& store)
      : folder_(std::move(folder)), document_(std::move(document)), store_(store) {}

  [[nodiscard]] std::size_t slots() const override { return 1; }
  void submit(tuner::TrialOrder order) override { order_ = std::move(order); }
  tuner::TrialAnswer next() override {
    const auto executed = execute(folder_, tuner::to_json({.document = document_, .task = *order_}));
    INFO(executed.error);
    REQUIRE(executed.answer);
    const space::Fingerprint& machine = executed.answer->machine;
    store_.save_fingerprint({.hash = machine.identity(), .fields = machine.to_json()});
    return std::get<tuner::TrialAnswer>(executed.answer->result);
  }

 private:
  fs::path folder_;
  json document_;
  db::Store& store_;
  std::optional<tuner::TrialOrder> order_;
};

/// What the database of a whole campaign says, a line a trial. Keys are compared, for they say what was measured.
std::vector<std::string> campaign_lines(const fs::path& folder, bool elsewhere) {
  const json document = fake_worker_campaign("computed");
  const auto machine = measure::probe_machine(tuner::find_installation().machine_roots());
  const auto spec = tuner::parse_campaign(document.dump(), "test.json", "/", measure::facts_of(machine));
  if (!spec) FAIL(tuner::to_text(spec.error()));
  auto store = db::Store::open(folder / "test.db", db::Mode::ReadWrite);
  tuner::LocalExecutor executor(*spec, {.installation = tuner::find_installation(),
                                        .builds_folder = folder / "builds",
                                        .runs_folder = folder / "runs",
                                        .database = folder / "test.db",
                                        .caches_folder = folder / "caches"});
  tuner::Observer observer;
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  tuner::Session session{.spec = *spec,
                         .store = store,
                         .executor = executor,
                         .observer = observer,
                         .clock = clock,
                         .interruption = interruption,
                         .fingerprint_now = {},
                         .fingerprint = measure::fingerprint_of(machine)};
  ProcessSlot process(folder, document, store);
  CHECK(tuner::Campaign(session, false, elsewhere ? &process : nullptr).run().ending == tuner::Ending::Complete);
  std::vector<std::string> lines;
  for (const db::StoredTrial& trial : store.list_trials({.campaign = session.campaign})) {
    const auto detail = store.load_trial(trial.id);
    // Not how many runs: on a busy machine there is one more.
    std::size_t samples = 0;
    for (const db::StoredRun& run : detail.runs)
      if (run.record.run.purpose == space::Purpose::Search) samples = run.record.run.samples.size();
    lines.push_back(fmt::format("{} {} {} {} {} samples a run", trial.trial.number,
                                trial.trial.configuration.canonical(), space::to_text(trial.trial.outcome), trial.key,
                                samples));
    CHECK(trial.trial.estimate);
  }
  return lines;
}

}  // namespace

TEST_CASE("a campaign whose trials other processes run is the campaign that this process runs", "[cli]") {
  const TemporaryFolder here, elsewhere;
  const auto expected = campaign_lines(here.path(), false);
  CHECK(expected.size() >= 6);
  CHECK_THAT(expected.front(), ContainsSubstring("12 samples a run"));
  CHECK(campaign_lines(elsewhere.path(), true) == expected);
}

TEST_CASE("a fresh process carries out each kind of order", "[cli]") {
  const TemporaryFolder folder;
  const json document = fake_worker_campaign("obey");
  const auto machine = answer_of<tuner::MachineAnswer>(folder.path(), document, tuner::DescribeOrder{});
  CHECK_FALSE(machine.cpus.empty());
  CHECK(machine.memory_limit_bytes > 0);
  CHECK(machine.facts.find("machine.cores") != nullptr);

  const auto prepared = answer_of<tuner::PreparationAnswer>(
      folder.path(), document,
      tuner::PreparationOrder{.ladder = {configuration(128), configuration(32)}, .batch = "batch"});
  CHECK(prepared.record.outcome == space::Outcome::Ok);
  CHECK(prepared.record.configuration == configuration(128));
  CHECK(prepared.record.train > std::chrono::nanoseconds(0));
  CHECK_FALSE(prepared.worker.empty());

  const auto pair = answer_of<tuner::PairAnswer>(
      folder.path(), document,
      tuner::PairOrder{
          .index = 1, .baseline = {configuration(128), 2}, .candidate = {configuration(32), 3}, .slices = 2});
  CHECK(pair.complete);
  CHECK(pair.pair.first == db::Side::Candidate);
  CHECK(pair.pair.slices.size() == 4);
  CHECK(pair.pair.slices.front().side == db::Side::Candidate);
  CHECK(pair.pair.slices.front().steps == 3);
  CHECK(pair.pair.baseline.run.samples.size() == 4);

  const auto gate = answer_of<tuner::GateAnswer>(
      folder.path(), document,
      tuner::GateOrder{.configuration = configuration(64),
                       .run = {.purpose = space::Purpose::Gate, .steps = 5, .deadline = {}}});
  CHECK(gate.run.run.samples.size() == 5);
  CHECK_FALSE(gate.verdict);
}

TEST_CASE("a failed trial is an answer, and what cannot be carried out is none", "[cli]") {
  const TemporaryFolder folder;
  const tuner::TrialOrder trial{.number = 4, .configuration = configuration(128)};
  const auto crashed = answer_of<tuner::TrialAnswer>(folder.path(), fake_worker_campaign("crash"), trial);
  CHECK(crashed.end == tuner::OrderEnd::Finished);
  CHECK(crashed.trial.outcome == space::Outcome::Crashed);
  CHECK(crashed.runs.size() == 1);

  json order = tuner::to_json({.document = fake_worker_campaign("obey"), .task = trial});
  order["cpus"] = {4095};
  auto refused = execute(folder.path(), order);
  CHECK(refused.code == 5);
  CHECK_FALSE(refused.answer);
  CHECK_THAT(refused.error, ContainsSubstring("the order is for the CPUs 4095, and this process may use"));
  order["cpus"] = json::array();
  order["document"]["run"]["steps"] = -3;
  refused = execute(folder.path(), order);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.error, ContainsSubstring("/run/steps"));
  order["trial"]["number"] = "four";
  refused = execute(folder.path(), order);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.error, ContainsSubstring("/trial/number: must be a whole number"));
  CHECK(execute(folder.path() / "nowhere", json()).code == 2);
}

}  // namespace nocturne::test
