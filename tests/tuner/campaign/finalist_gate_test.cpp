#include "tuner/campaign/finals/finalist_gate.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Two configurations for each number of threads; bf16 is twice as fast, and the more threads the faster.
tuner::CampaignSpec gated_spec(const std::string& gate, const std::string& data = "mnist",
                               const std::string& name = "gated", int threads = 8) {
  const std::string text = R"({
    "campaign": ")" + name +
                           R"(", "workload": {"network": "mnist_cnn", "data": ")" + data +
                           R"(", "optimizer": "adadelta",
                                      "training_examples": 60000},
    "objective": {"minimise": "time", "epochs": [1, 12]},
    "space": {"parameters": [
      {"name": "threads", "stage": "run", "range": [1, )" +
                           std::to_string(threads) +
                           R"(], "default": 4},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}]},
    "strategy": {"name": "random", "seed": 3}, "budget": {"trials": )" +
                           std::to_string(2 * threads) +
                           R"(},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 4, "slice_steps": 2, "gate": )" +
                           gate + "}}";
  auto spec = tuner::parse_campaign(text, "gated.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

bool is_bf16(const space::Configuration& configuration) {
  const space::Value* precision = configuration.find("precision");
  return precision != nullptr && *precision == space::Value("bf16");
}

struct Listener final : tuner::Observer {
  std::vector<std::string> notes;
  void note(const std::string& sentence) override { notes.push_back(sentence); }
};

/// One database, any number of sessions.
struct GatedCampaign {
  GatedCampaign() {
    executor.step_seconds = [](const space::Configuration& configuration) {
      const space::Value* threads = configuration.find("threads");
      const double count = threads != nullptr ? static_cast<double>(std::get<std::int64_t>(*threads)) : 4;
      return (is_bf16(configuration) ? 0.04 : 0.08) / count;
    };
  }

  tuner::Ending sit(const tuner::CampaignSpec& spec, bool fresh = false) {
    interruption = std::make_unique<tuner::Interruption>();
    auto store = db::Store::open(folder.path() / "gated.db", db::Mode::ReadWrite);
    tuner::Session session{.spec = spec,
                           .store = store,
                           .executor = executor,
                           .observer = listener,
                           .clock = *clock,
                           .interruption = *interruption,
                           .fingerprint_now = [] { return space::Fingerprint(); },
                           .slot_folder = folder.path()};
    return tuner::Campaign(session, fresh).run().ending;
  }

  [[nodiscard]] db::Store store() const { return db::Store::open(folder.path() / "gated.db", db::Mode::ReadOnly); }

  [[nodiscard]] tuner::Answer answer() const {
    const db::Store known = store();
    return tuner::answer_of(known, known.load_campaign("gated"));
  }

  [[nodiscard]] std::size_t told(const std::string& part) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        listener.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; }));
  }

  test::TemporaryFolder folder;
  FakeExecutor executor;
  Listener listener;
  tuner::SystemClock system_clock;
  const tuner::Clock* clock = &system_clock;
  std::unique_ptr<tuner::Interruption> interruption;  ///< interrupts the session
};

}  // namespace

TEST_CASE("a finalist that trains wrongly is no winner: the next best takes its place", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.moves = [](const space::Configuration& configuration) {
    return is_bf16(configuration) ? 0.0 : 1.0;
  };
  REQUIRE(campaign.sit(gated_spec(R"({"steps": 3})")) == tuner::Ending::Complete);
  const tuner::Answer answer = campaign.answer();
  REQUIRE(answer.best);
  CHECK_FALSE(is_bf16(answer.best->trial.configuration));
  CHECK(answer.verified_faster());
  REQUIRE_FALSE(answer.failures.empty());  // those that were faster than the best of the right ones
  for (const db::StoredTrial& failure : answer.failures) {
    CHECK(is_bf16(failure.trial.configuration));
    CHECK(failure.trial.outcome == space::Outcome::Wrong);
    CHECK_FALSE(failure.trial.estimate);
    CHECK_THAT(failure.trial.reason, ContainsSubstring("trains wrongly: after step 1, conv1.weights has moved by 0, in "
                                                       "the reference by 0.01: 100 % apart"));
  }
  CHECK(campaign.told("trains wrongly") == answer.failures.size());

  // What was seen is kept with the trial.
  const db::Store store = campaign.store();
  const auto detail = store.load_trial(answer.failures.front().id);
  const space::Run& run = detail.runs.back().record.run;
  CHECK(run.purpose == space::Purpose::Gate);
  CHECK(run.norms.size() == 4);
}

TEST_CASE("the reference is our worker's defaults at the finalist's batch, made once, and gives its weights away",
          "[gate]") {
  GatedCampaign campaign;
  campaign.executor.moves = [](const space::Configuration& configuration) {
    return is_bf16(configuration) ? 0.0 : 1.0;
  };
  REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
  const auto& plans = campaign.executor.gate_plans;
  REQUIRE(plans.size() >= 3);
  CHECK(plans[0].request.configuration == nlohmann::json{{"batch", 100}});
  CHECK(plans[0].request.gate->steps == 4);
  CHECK(plans[0].request.gate->write == (plans[0].folder / "initial-state").string());
  for (std::size_t i = 1; i < plans.size(); ++i) {
    CHECK(plans[i].request.configuration.contains("precision"));
    CHECK(plans[i].request.initial == plans[0].request.gate->write);
    CHECK(plans[i].request.seed == plans[0].request.seed);
    CHECK_FALSE(plans[i].request.gate->write);
  }
}

TEST_CASE("a default that trains wrongly is told, and nothing is compared with it", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.moves = [](const space::Configuration& configuration) {
    const space::Value* threads = configuration.find("threads");
    return threads != nullptr && *threads == space::Value(std::int64_t{4}) ? 0.5 : 1.0;
  };
  REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
  const tuner::Answer answer = campaign.answer();
  REQUIRE(answer.baseline);
  CHECK(answer.baseline->trial.outcome == space::Outcome::Wrong);
  CHECK(is_bf16(answer.best->trial.configuration));
  CHECK_FALSE(answer.verdict);
  CHECK(campaign.executor.pairs == 0);
}

TEST_CASE("where all that is fast trains wrongly the choice ends after twenty of them", "[gate]") {
  GatedCampaign campaign;
  const tuner::CampaignSpec spec = gated_spec("{}", "mnist", "gated", 24);
  const auto standard = spec.space.default_configuration();
  campaign.executor.moves = [&](const space::Configuration& configuration) {
    return configuration.find("threads") == nullptr || configuration == standard ? 1.0 : 0.0;
  };
  REQUIRE(campaign.sit(spec) == tuner::Ending::Complete);
  CHECK(campaign.answer().failures.size() == 20);
  CHECK(campaign.executor.gate_plans.size() == 22);  // and those of the reference and the default
  CHECK(campaign.told("20 of the fastest were refused") == 1);
  CHECK(campaign.executor.pairs == 0);
}

TEST_CASE("no further finalist is judged when the time is over", "[gate]") {
  GatedCampaign campaign;
  ManualClock clock;
  campaign.clock = &clock;
  campaign.executor.moves = [&](const space::Configuration& configuration) {
    if (!is_bf16(configuration)) return 1.0;
    clock.pass(std::chrono::hours(9));
    return 0.0;
  };
  tuner::CampaignSpec spec = gated_spec("{}");
  spec.budget.wall = std::chrono::hours(8);
  REQUIRE(campaign.sit(spec) == tuner::Ending::Complete);
  CHECK(campaign.answer().failures.size() == 1);
  CHECK(campaign.told("the time is over") == 1);
  CHECK(campaign.executor.pairs == 0);
}

TEST_CASE("the gate can be switched off", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.moves = [](const space::Configuration&) { return 0.0; };
  REQUIRE(campaign.sit(gated_spec(R"({"on": false})")) == tuner::Ending::Complete);
  CHECK(campaign.executor.gate_plans.empty());
  CHECK(is_bf16(campaign.answer().best->trial.configuration));
}

TEST_CASE("what cannot be judged is let through, and that is said", "[gate]") {
  GatedCampaign campaign;
  SECTION("a worker that does not know the gate") {
    campaign.executor.knows_gate = false;
    REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
    CHECK(campaign.told("is not judged: its worker does not know the gate") == 1);
    CHECK(campaign.executor.gate_plans.empty());
  }
  SECTION("a reference that cannot be built") {
    campaign.executor.reference_can_be_built = [] { return false; };
    REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
    CHECK(campaign.told("is not judged: the reference cannot be prepared: no such flag") == 1);
  }
  SECTION("accuracy and losses on synthetic data, of which no epoch is trained") {
    campaign.executor.accuracy = [](const space::Configuration& configuration) {
      return is_bf16(configuration) ? 0.1 : 0.98;
    };
    campaign.executor.loss_factor = [](const measure::RunPlan&) { return 0.5; };
    REQUIRE(campaign.sit(gated_spec("{}", "synthetic")) == tuner::Ending::Complete);
    CHECK_FALSE(campaign.answer().best_accuracy);
    CHECK(campaign.executor.gate_plans.size() == 3);  // the exact part all the same: reference, default, best
  }
  CHECK(is_bf16(campaign.answer().best->trial.configuration));
}

TEST_CASE("an accuracy that is inferior by more than the margin makes a trial wrong", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.accuracy = [](const space::Configuration& configuration) {
    return is_bf16(configuration) ? 0.96 : 0.98;
  };
  SECTION("of half a point") {
    REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
    const tuner::Answer answer = campaign.answer();
    CHECK_FALSE(is_bf16(answer.best->trial.configuration));
    REQUIRE_FALSE(answer.failures.empty());
    CHECK_THAT(answer.failures.front().trial.reason,
               ContainsSubstring("trains wrongly: its test accuracy is 96.00 %, the default's 98.00 %"));
  }
  SECTION("of two points") {
    REQUIRE(campaign.sit(gated_spec(R"({"accuracy_margin": 2})")) == tuner::Ending::Complete);
    CHECK(is_bf16(campaign.answer().best->trial.configuration));
  }
}

TEST_CASE("losses outside the band over the reference's seeds make a trial wrong", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.loss_factor = [](const measure::RunPlan& plan) {
    // Seeds scatter by two in a hundred; what trains wrongly has half the loss.
    const double scatter = 1 + 0.01 * static_cast<double>(plan.request.seed % 5);
    return scatter * (plan.request.configuration.value("precision", "f32") == "bf16" ? 0.5 : 1.0);
  };
  REQUIRE(campaign.sit(gated_spec(R"({"seeds": 5})")) == tuner::Ending::Complete);
  const tuner::Answer answer = campaign.answer();
  CHECK_FALSE(is_bf16(answer.best->trial.configuration));
  REQUIRE_FALSE(answer.failures.empty());
  CHECK_THAT(answer.failures.front().trial.reason,
             ContainsSubstring("trains wrongly: its losses leave the band of the reference: "));
  CHECK_THAT(answer.failures.front().trial.reason, ContainsSubstring("5 seeds of the reference say"));
  // The reference's epochs are trained once, whatever the number of finalists.
  const auto epochs = std::ranges::count_if(campaign.executor.run_configurations, [](const auto& configuration) {
    return configuration.find("threads") == nullptr;
  });
  CHECK(epochs == 5);
}

TEST_CASE("the band over seeds is made once for a workload, whatever the campaign", "[gate]") {
  GatedCampaign campaign;
  const auto reference_epochs = [&] {
    return std::ranges::count_if(campaign.executor.run_configurations,
                                 [](const auto& configuration) { return configuration.find("threads") == nullptr; });
  };
  campaign.executor.loss_factor = [](const measure::RunPlan& plan) {
    return 1 + 0.01 * static_cast<double>(plan.request.seed % 5);
  };
  REQUIRE(campaign.sit(gated_spec(R"({"seeds": 5})")) == tuner::Ending::Complete);
  CHECK(reference_epochs() == 5);
  campaign.executor.loss_factor = [](const measure::RunPlan& plan) {
    return plan.request.configuration.value("precision", "f32") == "bf16" ? 0.5 : 1.0;
  };
  // No number of seeds is named, and no time is kept for them: those that are known cost nothing, and do find it.
  REQUIRE(campaign.sit(gated_spec("{}", "mnist", "another"), true) == tuner::Ending::Complete);
  CHECK(reference_epochs() == 5);
  const db::Store store = campaign.store();
  const auto wrong =
      store.list_trials({.campaign = store.find_campaign("another").value().id, .outcome = space::Outcome::Wrong});
  REQUIRE_FALSE(wrong.empty());
  CHECK_THAT(wrong.front().trial.reason, ContainsSubstring("5 seeds of the reference say"));

  // Seeds that are not wanted, other data, or another build of the reference: another matter.
  REQUIRE(campaign.sit(gated_spec(R"({"seeds": 0})", "mnist", "third"), true) == tuner::Ending::Complete);
  CHECK(reference_epochs() == 5);
  CHECK(store.list_trials({.campaign = store.find_campaign("third").value().id, .outcome = space::Outcome::Wrong})
            .empty());
  REQUIRE(campaign.sit(gated_spec(R"({"seeds": 4})", "fashion", "fourth"), true) == tuner::Ending::Complete);
  CHECK(reference_epochs() == 9);
  campaign.executor.artifact = "another-key";
  REQUIRE(campaign.sit(gated_spec(R"({"seeds": 4})", "mnist", "fifth"), true) == tuner::Ending::Complete);
  CHECK(reference_epochs() == 13);
}

TEST_CASE("epochs of the reference that nobody asked for keep to the hour at which the campaign is to end", "[gate]") {
  GatedCampaign campaign;
  ManualClock clock;
  campaign.clock = &clock;
  campaign.executor.fate = [&](std::size_t, const space::Configuration&) {
    clock.pass(std::chrono::seconds(1));
    return space::Outcome::Ok;
  };
  // An epoch of the default takes ten steps, and three more until the first is done.
  double step = 0;
  std::ptrdiff_t epochs = 0;
  SECTION("they are short beside the night") {
    step = 1;
    epochs = 6;
  }
  SECTION("they would take more than a tenth of it") {
    step = 120;
    epochs = 0;
  }
  campaign.executor.step_seconds = [&](const space::Configuration& configuration) {
    return is_bf16(configuration) ? step / 2 : step;
  };
  campaign.executor.loss_factor = [](const measure::RunPlan& plan) {
    return 1 + 0.01 * static_cast<double>(plan.request.seed % 5);
  };
  tuner::CampaignSpec spec = gated_spec("{}");
  const std::time_t end = std::chrono::system_clock::to_time_t(clock.wall() + std::chrono::hours(8));
  std::tm parts{};
  ::localtime_r(&end, &parts);
  spec.budget.until = space::TimeOfDay{parts.tm_hour, parts.tm_min};
  REQUIRE(campaign.sit(spec) == tuner::Ending::Complete);
  CHECK(is_bf16(campaign.answer().best->trial.configuration));
  CHECK(std::ranges::count_if(campaign.executor.run_configurations, [](const auto& configuration) {
          return configuration.find("threads") == nullptr;
        }) == epochs);
}

TEST_CASE("a gate that was interrupted asks again in the next session", "[gate]") {
  GatedCampaign campaign;
  campaign.executor.reference_can_be_built = [&] {
    campaign.interruption->abandon();
    return false;
  };
  REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Interrupted);
  CHECK_FALSE(campaign.answer().verdict);
  CHECK(campaign.executor.gate_plans.empty());
  campaign.executor.reference_can_be_built = [] { return true; };
  REQUIRE(campaign.sit(gated_spec("{}")) == tuner::Ending::Complete);
  CHECK(campaign.answer().verdict);
  CHECK(campaign.executor.gate_plans.size() == 3);  // reference, default, best
}

TEST_CASE("a changed script is held against the script unchanged unless its campaign says that nobody looks",
          "[gate]") {
  const bool looks = GENERATE(true, false);
  const std::string text = R"json({
    "campaign": "gated", "workload": {"training_examples": 1000}, "objective": {"minimise": "time", "epochs": [1]},
    "worker": {"template": ["/bin/true"], "time": "process", "levers": {
      "layout": {"variable": "NOCTURNE_LEVER_LAYOUT", "changes": "rounding"}}},
    "space": {"parameters": [
      {"name": "layout", "stage": "run", "type": "categorical", "values": ["script", "blocked"]}]},
    "strategy": {"name": "exhaustive"}, "verify": {"pairs": 4, "finalists": 1, "gate": {"on": )json" +
                           std::string(looks ? "true" : "false") + "}}}";
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  REQUIRE(spec);
  GatedCampaign campaign;
  campaign.executor.step_seconds = [](const space::Configuration& each) {
    return *each.find("layout") == space::Value("blocked") ? 0.8 : 1.0;
  };
  REQUIRE(campaign.sit(*spec) == tuner::Ending::Complete);
  CHECK(campaign.answer().verdict);
  CHECK((campaign.told("does trial 1 learn as the script does") > 0) == looks);
  CHECK((campaign.told("compare what both learn") > 0) != looks);
}

}  // namespace nocturne::test
