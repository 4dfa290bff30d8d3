#include "tuner/campaign/learned_campaign.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/cli/check_document.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/cli/cli.hpp"
#include "tuner/cli/explaining/explanation.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/model_page.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::string_view kCampaign = R"({
  "campaign": "learnt", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12]},
  "space": {"parameters": [
    {"name": "framework", "stage": "environment", "values": ["lean", "fat"], "default": "lean"},
    {"name": "threads", "stage": "run", "range": [1, 16], "default": 4},
    {"name": "idle", "stage": "run", "range": [1, 8], "default": 1},
    {"name": "fixed", "stage": "run", "values": [7], "default": 7},
    {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"}],
   "constraints": [{"require": "threads != 13", "because": "thirteen brings chance"}]},
  "worker": {"command": ["/bin/true"]},
  "strategy": {"name": "auto", "seed": 3},
  "budget": {"trials": TRIALS},
  "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}
})";

tuner::CampaignSpec spec_with(int trials) {
  std::string text(kCampaign);
  text.replace(text.find("TRIALS"), 6, std::to_string(trials));
  auto spec = tuner::parse_campaign(text, "learnt.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// bf16 halves the step, the fat framework takes three times as long, threads help, `idle` does nothing.
double step_seconds(const space::Configuration& configuration) {
  const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
  const bool bf16 = *configuration.find("precision") == space::Value("bf16");
  const bool fat = *configuration.find("framework") == space::Value("fat");
  return (bf16 ? 0.04 : 0.08) * (fat ? 3 : 1) * (0.1 + 1 / threads);
}

/// A night, and the file it left.
struct Night {
  /// `alone`: by how much processes of a configuration are slower that are not measured in pairs.
  explicit Night(
      int trials, std::vector<space::Configuration> wanted = {},
      std::function<double(const space::Configuration&)> alone = [](const auto&) { return 1.0; })
      : factor_alone(std::move(alone)) {
    sit(trials, std::move(wanted));
  }

  void sit(int trials, std::vector<space::Configuration> wanted, std::string id_suffix = "a") const {
    SessionFixture<> cli(folder, "night.db");
    cli.executor.step_seconds = step_seconds;
    cli.executor.process_sd = factor_alone;
    cli.executor.id_suffix = std::move(id_suffix);
    (void)cli.with_session(spec_with(trials), [&wanted](tuner::Session& session) {
      session.wanted = std::move(wanted);
      return tuner::Campaign(session, false).run();
    });
  }
  [[nodiscard]] std::filesystem::path file() const { return folder.path / "night.db"; }
  [[nodiscard]] std::unique_ptr<tuner::LearnedCampaign> learn() const {
    auto store = db::Store::open(file(), db::Mode::ReadOnly);
    auto learned = tuner::learn_from(store, store.find_campaign("learnt").value());
    if (!learned) FAIL(learned.error());
    return *std::move(learned);
  }
  /// What it prints; where it refuses, why.
  std::string nocturne(std::vector<std::string> words, cli::ExitCode code = cli::ExitCode::Ok) const {
    std::ostringstream out, err;
    cli::Context context;
    context.out = &out;
    context.err = &err;
    words.insert(words.end(), {"--db", file().string()});
    CHECK(cli::run_command_line(words, context) == code);
    if (code != cli::ExitCode::Ok) return err.str();
    INFO(err.str());
    test::check_document(words, out.str());
    return out.str();
  }

  std::function<double(const space::Configuration&)> factor_alone;
  CampaignFolder folder;
};

}  // namespace

TEST_CASE("a stored campaign teaches its effects, prunes what is slow, and knows how far it can be trusted",
          "[campaign]") {
  const Night night(60);
  const auto learned = night.learn();
  CHECK(learned->without.empty());
  CHECK(learned->space.constraints().size() == 1);
  const auto page = cli::make_model_page(*learned);
  CHECK(page.worked == 60);
  const auto effect = [&](const std::string& name) {
    return *std::ranges::find(page.effects, name, &cli::ModelPage::Effect::parameter);
  };
  REQUIRE(effect("precision").values.size() == 1);
  const auto bf16 = effect("precision").values[0];
  CHECK(bf16.value == "bf16");
  CHECK(std::abs(bf16.change.mean + std::log(2.0)) < 0.15);
  CHECK(effect("idle").share < 0.01);
  CHECK(std::ranges::count(page.effects, "fixed", &cli::ModelPage::Effect::parameter) == 0);  // it has one value
  CHECK(page.aliased.empty());
  REQUIRE(page.pruned_levels.size() == 1);
  CHECK_THAT(page.pruned_levels[0].sentence,
             ContainsSubstring("framework=fat pruned: at best ") && ContainsSubstring("at 1 and 12 epochs"));
  CHECK(page.audits >= 1);
  CHECK(page.audit_misses == 0);
  CHECK(page.left_out == 60);
  CHECK(page.held >= 48);
  CHECK(page.pruned > page.drawn / 3);

  const std::string text = night.nocturne({"model"});
  CHECK_THAT(text, ContainsSubstring("precision=bf16: ") && ContainsSubstring(" % faster than f32 (") &&
                       ContainsSubstring("framework=fat pruned") && ContainsSubstring("audits: ") &&
                       ContainsSubstring("Calibration: of 60 trials") &&
                       ContainsSubstring("No effect seen on average: ") &&
                       ContainsSubstring("More time: another hour: "));
  const auto document = nlohmann::json::parse(night.nocturne({"model", "--json"}));
  CHECK(document["calibration"]["trials"] == 60);
  CHECK_THAT(night.nocturne({"best"}), ContainsSubstring("More time another hour: "));
}

TEST_CASE("the model tells an interaction that is asked for, in the order in which it is asked", "[campaign]") {
  const Night night(40);
  const auto pairs_of = [&](std::vector<std::string> words) {
    words.emplace_back("--json");
    std::map<std::pair<std::string, std::string>, nlohmann::json> pairs;
    const auto document = nlohmann::json::parse(night.nocturne(std::move(words)));
    for (const nlohmann::json& each : document["interactions"])
      pairs[{each.at("parameters").at(0), each.at("parameters").at(1)}] = each;
    return pairs;
  };
  CHECK(!pairs_of({"model"}).contains({"precision", "idle"}));  // it makes nothing of what varies
  const auto pairs = pairs_of({"model", "--interaction", "precision,idle", "--interaction", "idle,framework"});
  REQUIRE(pairs.contains({"precision", "idle"}));
  CHECK(pairs.contains({"idle", "framework"}));
  const nlohmann::json& asked = pairs.at({"precision", "idle"});
  CHECK(asked.at("defaults") == nlohmann::json({"f32", "1"}));
  for (const nlohmann::json& each : asked.at("combinations")) {
    CHECK(each.at("trials") >= 3);
    CHECK(each.at("low_percent") <= each.at("more_time_percent"));
  }
  CHECK_THAT(night.nocturne({"model", "--interaction", "precision,idle"}),
             ContainsSubstring("precision with idle: moves times by ±"));
  CHECK_THAT(night.nocturne({"model", "--interaction", "precision,idel"}, cli::ExitCode::Usage),
             ContainsSubstring("no parameter 'idel', did you mean 'idle'?"));
  for (const char* wrong : {"precision", "idle,idle"})
    night.nocturne({"model", "--interaction", wrong}, cli::ExitCode::Usage);
}

TEST_CASE("the answer says what matters, what hardly does, and what needs no trial", "[campaign]") {
  const Night night(60);
  const auto learned = night.learn();
  const auto best =
      std::ranges::min(learned->trials, {}, [](const space::Trial& each) { return each.estimate->value; });
  const auto found = tuner::matters(*learned, best.configuration);
  const auto parameter = [](const std::vector<tuner::Matter>& list, const std::string& name) {
    return std::ranges::find(list, name, &tuner::Matter::parameter);
  };
  const auto framework = parameter(found.much, "framework");
  REQUIRE(framework != found.much.end());
  CHECK(framework->value == "lean");
  REQUIRE(framework->others.size() == 1);
  CHECK(framework->others[0].value == "fat");
  CHECK(framework->others[0].change.interval.contains(std::log(3)));
  const auto precision = parameter(found.much, "precision");
  REQUIRE(precision != found.much.end());
  CHECK(precision->others[0].change.interval.contains(std::log(2)));
  CHECK(parameter(found.much, "threads") != found.much.end());
  CHECK(parameter(found.much, "idle") == found.much.end());
  REQUIRE(found.ruled_out.size() == 1);
  CHECK(found.ruled_out[0].value == "fat");
  CHECK(found.ruled_out_share > 0.3);

  const std::string text = night.nocturne({"best"});
  CHECK_THAT(text, ContainsSubstring("Matters   the best with one other value") &&
                       ContainsSubstring("% slower than bf16 (") && ContainsSubstring("idle: ") &&
                       ContainsSubstring("cannot win and need no trial, among them all with framework fat\n"));
  const auto document = nlohmann::json::parse(night.nocturne({"best", "--json"}));
  CHECK(document["matters"]["much"].size() == found.much.size());
  CHECK(document["matters"]["ruled_out"][0]["parameter"] == "framework");
}

TEST_CASE("a line of what matters says what was measured of just that, and that one trial is one", "[campaign]") {
  using search::model::Interval;
  const tuner::OtherValue other{.value = "O2",
                                .change = {.parameter = 0,
                                           .level = 1,
                                           .trials = 1,
                                           .mean = 0.15,
                                           .interval = Interval{.lower = 0.02, .upper = 0.3}},
                                .measured = 0.2};
  CHECK(cli::change_text(other, "O3") == "16 % slower than O3 (2.0 to 35 %); one trial; measured once: 22 % slower");
  const Night night(60);
  const auto learned = night.learn();
  const auto best =
      std::ranges::min(learned->trials, {}, [](const space::Trial& each) { return each.estimate->value; });
  int compared = 0;
  const auto found = tuner::matters(*learned, best.configuration);
  for (const auto* list : {&found.much, &found.hardly, &found.unsure}) {
    for (const tuner::Matter& matter : *list) {
      for (const tuner::OtherValue& each : matter.others) {
        if (!each.measured) continue;
        ++compared;
        INFO(matter.parameter << "=" << each.value);
        CHECK(each.change.interval.contains(*each.measured));
      }
    }
  }
  CHECK(compared >= 1);
}

TEST_CASE("pairs that contradict a disturbed trial are heeded, at the cost of what is unlike all others",
          "[campaign]") {
  const Night undisturbed(60);
  const Night night(60, {}, [](const space::Configuration& configuration) {
    const bool is_default = *configuration.find("threads") == space::Value(std::int64_t{4}) &&
                            *configuration.find("precision") == space::Value("f32") &&
                            *configuration.find("framework") == space::Value("lean") &&
                            *configuration.find("idle") == space::Value(std::int64_t{1});
    return is_default ? 1.2 : 1.0;  // by more the campaign itself heeds them
  });
  const auto value = [](tuner::LearnedCampaign& learned, const space::Configuration& configuration) {
    const auto& model = *learned.report;
    return model.log_value(model.trial_of(*learned.lattice().point_of(configuration)).value());
  };
  const auto learned = night.learn(), truth = undisturbed.learn();
  const auto trial_of_default = std::ranges::find(learned->trials, 0, &space::Trial::number);
  const double told = std::log(trial_of_default->estimate->value);
  const double heeded = value(*learned, trial_of_default->configuration);
  const double true_value = value(*truth, trial_of_default->configuration);
  CHECK(told - true_value > 0.15);
  CHECK(std::abs(heeded - true_value) < 0.05);
  const auto best =
      std::ranges::min(learned->trials, {}, [](const space::Trial& each) { return each.estimate->value; });
  CHECK(std::abs(value(*learned, best.configuration) - std::log(best.estimate->value)) < 0.05);
}

TEST_CASE("too few trials say nothing of what matters", "[campaign]") {
  const Night night(4);
  CHECK_THAT(night.nocturne({"best"}), !ContainsSubstring("Matters"));
  CHECK(nlohmann::json::parse(night.nocturne({"best", "--json"}))["matters"].is_null());
}

TEST_CASE("a configuration is explained before it is measured, and by its trial", "[campaign]") {
  const Night night(60);
  const auto learned = night.learn();
  auto slow = cli::explain(*learned, "framework=fat,threads=2,idle=8");
  REQUIRE(slow);
  CHECK(slow->configuration.values().size() == 5);
  CHECK(*slow->margin > 0);
  CHECK_FALSE(slow->pruned_level.empty());
  CHECK(slow->terms.front().log_ratio > 0.5);
  CHECK(slow->nearest.has_value());
  REQUIRE_FALSE(slow->measured);
  CHECK_THAT(slow->settle, ContainsSubstring("nocturne compare best framework=fat,idle=8,"));
  const double truth = 20 * 12 * step_seconds(slow->configuration);
  CHECK(std::abs(slow->predicted - std::log(truth)) < 1);

  const auto first = cli::explain(*learned, "0");
  REQUIRE(first);
  CHECK(first->measured.has_value());
  CHECK(first->settle.empty());
  CHECK_THAT(cli::explain(*learned, "thread=2").error(), ContainsSubstring("did you mean 'threads'"));
  CHECK_THAT(cli::explain(*learned, "threads=99").error(), ContainsSubstring("threads is integer 1 to 16, not '99'"));
  CHECK_THAT(cli::explain(*learned, "threads=13").error(), ContainsSubstring("chance"));
  CHECK_THAT(cli::explain(*learned, "999").error(), ContainsSubstring("no trial 999"));

  const std::string text = night.nocturne({"explain", "framework=fat"});
  CHECK_THAT(text, ContainsSubstring("predicted ") && ContainsSubstring("terms ") && ContainsSubstring("pruned ") &&
                       ContainsSubstring("evidence "));
  CHECK_THAT(night.nocturne({"explain", "20"}), ContainsSubstring("chosen         search: "));
  CHECK_THAT(night.nocturne({"show", "20"}), ContainsSubstring("chosen         auto: "));
  CHECK_THAT(night.nocturne({"explain", "learnt"}), ContainsSubstring("by value of each parameter"));
}

TEST_CASE("audits are stored as such, with the runs they made", "[campaign]") {
  const Night night(60);
  auto store = db::Store::open(night.file(), db::Mode::ReadOnly);
  const auto campaign = store.find_campaign("learnt").value();
  const auto exchanges = store.exchanges(campaign.id);
  std::size_t audits = 0;
  for (const auto& exchange : exchanges) {
    const auto* ask = std::get_if<db::Ask>(&exchange);
    if (ask == nullptr || ask->answer.empty() || ask->answer[0].purpose != space::Purpose::Audit) continue;
    ++audits;
    const auto trial = store.find_trial(campaign.id, ask->answer[0].number);
    REQUIRE(trial);
    const auto detail = store.load_trial(trial->id);
    CHECK(detail.runs.front().record.run.purpose == space::Purpose::Audit);
  }
  CHECK(audits >= 1);
  CHECK(audits <= 2);
}

TEST_CASE("what the user wants measured comes next, whatever the budget, and once", "[campaign]") {
  Night night(6);
  auto wish = spec_with(6).space.default_configuration();
  wish.set("threads", std::int64_t{15});
  wish.set("framework", std::string("fat"));
  night.sit(6, {wish}, "b");
  night.sit(6, {wish}, "c");
  const auto learned = night.learn();
  REQUIRE(learned->trials.size() == 7);
  CHECK(learned->trials.back().configuration == wish);
  CHECK(learned->asked.back().reason == "the user wanted it measured");
}

TEST_CASE("what another hour brings is a number where it is known, and no number where it is not", "[campaign]") {
  using namespace std::chrono_literals;
  tuner::ValueOfContinuing continuing{.time = 1h,
                                      .expected_gain = {.trials = 30, .mean = 0.02, .lower = 0.01, .upper = 0.05}};
  CHECK(tuner::to_text(continuing) == "another hour: +2.0 % speed by the forecast of the search, which is no interval");
  continuing.expected_gain.upper = 4.8;
  CHECK(tuner::to_text(continuing) == "another hour: not known yet");
}

TEST_CASE("too few trials teach nothing, and that is said", "[campaign]") {
  const Night night(3);
  auto store = db::Store::open(night.file(), db::Mode::ReadOnly);
  const auto learned = tuner::learn_from(store, store.find_campaign("learnt").value());
  REQUIRE_FALSE(learned);
  CHECK_THAT(learned.error(), ContainsSubstring("needs 5 at least"));
}

}  // namespace nocturne::test
