#include "tuner/campaign/single_changes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "search/model/linear_model.hpp"
#include "search/registry.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

const std::string kLevers = R"({
  "autocast": {"variable": "NOCTURNE_LEVER_AUTOCAST", "changes": "precision"},
  "workers": {"variable": "NOCTURNE_LEVER_WORKERS", "changes": "random stream"}})";
const std::string kParameters = R"([
  {"name": "threads", "stage": "run", "range": [1, 16], "default": 16},
  {"name": "wait_policy", "stage": "run", "values": ["default", "active", "passive"]},
  {"name": "huge_pages", "stage": "run", "type": "boolean", "active_if": "wait_policy == 'active'"},
  {"name": "size", "stage": "run", "values": [8, 16, 32], "default": 8},
  {"name": "autocast", "stage": "run", "type": "categorical", "values": ["script", "bfloat16"]},
  {"name": "workers", "stage": "run", "type": "categorical", "values": ["script", "1", "2"]}])";

struct Wish {
  std::string strategy = "auto", budget = R"({"trials": 40})", levers = kLevers, parameters = kParameters;
  std::string words = R"(["/bin/true", "--size", "{size}"])";
};

tuner::CampaignSpec own_command(const Wish& wish = {}) {
  const std::string text = fmt::format(R"json({{
    "campaign": "test", "workload": {{"training_examples": 1000}}, "objective": {{"minimise": "time", "epochs": [1]}},
    "worker": {{"template": {}, "time": "process", "levers": {}}}, "space": {{"parameters": {}}},
    "strategy": {{"name": "{}", "seed": 3}}, "budget": {}, "run": {{"steps": 10}},
    "verify": {{"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2}}}})json",
                                       wish.words, wish.levers, wish.parameters, wish.strategy, wish.budget);
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  spec->verify.gate.learning = false;
  return std::move(*spec);
}

std::vector<std::string> names_of(const std::vector<tuner::SingleChange>& changes) {
  std::vector<std::string> names;
  for (const auto& each : changes) names.push_back(each.parameter + "=" + space::to_text(each.value));
  return names;
}

const std::vector<std::string> kExpected = {
    "autocast=bfloat16",  "workers=1", "workers=2",          "size=16", "size=32", "threads=8",
    "wait_policy=active", "threads=1", "wait_policy=passive"};

/// Who asked for each trial, and why, in their order.
std::vector<std::string> asked_for(CampaignFixture& fixture) {
  const db::Store store = fixture.reading();
  std::vector<std::string> lines;
  for (const db::Exchange& exchange : store.exchanges(store.find_campaign("test").value().id))
    if (const auto* ask = std::get_if<db::Ask>(&exchange))
      lines.push_back(ask->strategy + ": " + ask->answer.front().reason);
  return lines;
}

std::vector<std::string> singles_in(const std::vector<std::string>& lines) {
  std::vector<std::string> singles;
  for (const std::string& line : lines)
    if (line.starts_with("single change: ")) singles.push_back(line.substr(15, line.rfind(' ') - 15));
  return singles;
}

}  // namespace

TEST_CASE("a trial of a larger batch trains as many steps as it says it times", "[campaign]") {
  auto parsed = tuner::parse_campaign(R"json({
    "campaign": "test", "workload": {"training_examples": 60000}, "objective": {"minimise": "time", "epochs": [1]},
    "worker": {"template": ["/bin/true"], "time": "steps", "levers": {"batch": {"variable": "NOCTURNE_LEVER_BATCH"}}},
    "space": {"parameters": [{"name": "batch", "stage": "run", "values": [64, 128, 512]}]},
    "strategy": {"name": "exhaustive"}, "budget": {"trials": 3}, "run": {"steps": 60},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false}})json",
                                      "test.json", "/", space::Facts());
  if (!parsed) FAIL(tuner::to_text(parsed.error()));
  parsed->verify.gate.learning = false;
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  fixture.sit(*parsed);
  std::map<std::int64_t, std::int64_t> trained;
  for (const measure::RunPlan& plan : fixture.executor.run_plans)
    if (plan.purpose == space::Purpose::Search)
      trained[plan.request.configuration.at("batch").get<std::int64_t>()] = plan.request.steps;
  CHECK(trained == std::map<std::int64_t, std::int64_t>{{64, 60}, {128, 30}, {512, 10}});
}

TEST_CASE("a command is changed in one thing at a time, levers first, then its words, then around it",
          "[single-changes]") {
  const auto spec = own_command();
  const auto changes = tuner::single_changes(spec.space, spec.worker.own);
  CHECK(names_of(changes) == kExpected);
  for (const auto& each : changes) {
    CHECK(spec.space.check(each.configuration).empty());
    std::size_t different = 0;
    for (const auto& [name, value] : spec.space.default_configuration().values()) {
      const space::Value* const now = each.configuration.find(name);
      if (now == nullptr || *now != value) ++different;
    }
    CHECK(different == 1);
  }
}

TEST_CASE("of a long range the middle and the ends are tried, by its own scale", "[single-changes]") {
  Wish wish;
  wish.levers = "{}";
  wish.words = R"(["/bin/true", "{a}", "{b}", "{c}"])";
  wish.parameters = R"([
    {"name": "a", "stage": "run", "range": [1, 1024], "scale": "logarithmic", "default": 4},
    {"name": "b", "stage": "run", "type": "real", "range": [0, 2], "default": 0.5},
    {"name": "c", "stage": "run", "range": [1, 4], "default": 1}])";
  const auto spec = own_command(wish);
  const std::vector<std::string> expected = {"a=32", "b=1.0", "c=2", "a=1", "b=0.0", "c=3", "a=1024", "b=2.0", "c=4"};
  CHECK(names_of(tuner::single_changes(spec.space, spec.worker.own)) == expected);
}

TEST_CASE("single changes are half of the trials at most", "[single-changes]") {
  CHECK(tuner::single_change_fits(1000, {}));
  CHECK(tuner::single_change_fits(4, 10));
  CHECK_FALSE(tuner::single_change_fits(5, 10));
  CHECK_FALSE(tuner::single_change_fits(0, 1));
}

TEST_CASE("a campaign of an own command begins with single changes, after what the user wants", "[single-changes]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  const auto spec = own_command();
  space::Configuration wanted = spec.space.default_configuration();
  wanted.set("size", std::int64_t{32});
  fixture.with_session(spec, [&](tuner::Session& session) {
    session.wanted = {wanted};
    return tuner::Campaign(session, false).run();
  });
  const auto lines = asked_for(fixture);
  REQUIRE(lines.size() >= 40);
  CHECK(lines[0].starts_with("default: "));
  CHECK(lines[1] == "user: the user wanted it measured");
  CHECK(lines[2] == "single change: autocast=bfloat16 alone");
  auto expected = kExpected;
  std::erase(expected, "size=32");  // known already
  CHECK(singles_in(lines) == expected);
  CHECK(lines[2 + expected.size()].starts_with("auto: "));
}

TEST_CASE("no single changes beyond half of the budget, nor where nothing is learnt", "[single-changes]") {
  const CampaignFolder folder;
  CampaignFixture fixture(folder);
  SECTION("few trials") {
    fixture.sit(own_command({.budget = R"({"trials": 8})"}));
    CHECK(singles_in(asked_for(fixture)) == std::vector(kExpected.begin(), kExpected.begin() + 4));
  }
  SECTION("random") {
    fixture.sit(own_command({.strategy = "random"}));
    CHECK(singles_in(asked_for(fixture)).empty());
  }
}

TEST_CASE("a campaign that is resumed asks for the single changes that an undisturbed one asks for",
          "[single-changes]") {
  const CampaignFolder whole_folder;
  CampaignFixture whole(whole_folder);
  whole.sit(own_command());
  for (const std::int64_t last : {3, 9, 20}) {
    INFO(last);
    const CampaignFolder folder;
    CampaignFixture first(folder);
    first.watcher.after = [&](const space::Trial& trial) {
      if (trial.number == last) first.interruption.finish();
    };
    REQUIRE(first.sit(own_command()).ending == tuner::Ending::Interrupted);
    CampaignFixture second(folder);
    second.executor.id_suffix = "b";
    second.sit(own_command());
    CHECK(asked_for(second) == asked_for(whole));
  }
}

namespace {

/// Four levers of 20, 10, 5 and 0 %, whose effects add up, and surroundings without effect.
Wish planted_wish() {
  Wish wish;
  wish.words = R"(["/bin/true"])";
  nlohmann::json levers = nlohmann::json::object(), parameters = nlohmann::json::array();
  for (const char* name : {"threads", "affinity", "wait_policy", "allocator", "huge_pages"}) {
    nlohmann::json each = {{"name", name}, {"stage", "run"}};
    const std::string which = name;
    if (which == "threads") each.update({{"range", {1, 6}}, {"default", 6}});
    if (which == "affinity") each["values"] = {"none", "close", "spread"};
    if (which == "wait_policy") each["values"] = {"default", "active", "passive"};
    if (which == "allocator") each["values"] = {"default", "jemalloc", "tcmalloc"};
    if (which == "huge_pages") each["type"] = "boolean";
    parameters.push_back(each);
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    parameters.push_back({{"name", name}, {"stage", "run"}, {"type", "categorical"}, {"values", {"script", "on"}}});
    levers[name] = {{"variable", fmt::format("NOCTURNE_LEVER_{}", static_cast<char>(std::toupper(*name)))},
                    {"changes", "rounding"}};
  }
  wish.levers = levers.dump();
  wish.parameters = parameters.dump();
  return wish;
}

double planted(const space::Configuration& configuration) {
  double log_time = 0;
  for (const auto& [name, gain] : {std::pair("a", 0.20), std::pair("b", 0.10), std::pair("c", 0.05)})
    if (*configuration.find(name) == space::Value("on")) log_time += std::log(1 - gain);
  return log_time;
}

/// Levers of the configuration that the model takes for the fastest after so many trials.
std::set<std::string> believed_best(const tuner::CampaignSpec& spec, std::uint64_t seed, std::size_t trials,
                                    bool with_singles) {
  auto strategy = search::make_strategy("auto", spec.space, {.seed = seed, .objective = spec.objective}).value();
  space::Lattice lattice(spec.space);
  search::model::LinearModel model(lattice, search::model::kForReports);
  space::Random random(seed, 1'000'000);
  std::int64_t number = 0;
  const auto measure = [&](const space::Configuration& configuration) {
    double noise = -6;
    for (int i = 0; i < 12; ++i) noise += random.unit();  // normal, nearly
    const double log_time = planted(configuration) + 0.06 * noise;
    space::Trial trial{.number = number++, .configuration = configuration, .outcome = space::Outcome::Ok};
    trial.estimate = space::Estimate{.value = std::exp(log_time), .standard_error = 0, .runs = 1};
    strategy->tell({&trial, 1});
    model.tell(*lattice.point_of(configuration), log_time);
  };
  measure(spec.space.default_configuration());
  if (with_singles) {
    for (const auto& each : tuner::single_changes(spec.space, spec.worker.own)) {
      if (!tuner::single_change_fits(number - 1, static_cast<std::int64_t>(trials))) break;
      measure(each.configuration);
    }
  }
  while (static_cast<std::size_t>(number) < trials) measure(strategy->ask(1).at(0).configuration);
  model.fit();
  // As effects add up, the best is found by climbing from the default.
  space::Configuration best = spec.space.default_configuration();
  double least = model.predict(*lattice.point_of(best)).mean;
  for (bool better = true; better;) {
    better = false;
    for (const space::Parameter& parameter : spec.space.parameters()) {
      for (std::uint64_t i = 0; i < parameter.size(); ++i) {
        space::Configuration next = best;
        next.set(parameter.name, parameter.value(i));
        const double mean = model.predict(*lattice.point_of(next)).mean;
        if (mean >= least - 1e-9) continue;
        least = mean;
        best = next;
        better = true;
      }
    }
  }
  std::set<std::string> levers;
  for (const char* name : {"a", "b", "c", "d"})
    if (*best.find(name) == space::Value("on")) levers.insert(name);
  return levers;
}

struct FoundCounts {
  int all = 0, large = 0, idle = 0;  ///< a, b and c; a and b; d, which does nothing
};

FoundCounts found_in(std::uint64_t seeds, bool with_singles) {
  const auto spec = own_command(planted_wish());
  FoundCounts found;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto levers = believed_best(spec, seed, 40, with_singles);
    const bool large = levers.contains("a") && levers.contains("b");
    found.large += large ? 1 : 0;
    found.all += large && levers.contains("c") ? 1 : 0;
    found.idle += levers.contains("d") ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("after the single changes the search combines what helped", "[single-changes]") {
  const FoundCounts found = found_in(10, true);
  CHECK(found.large == 10);
  CHECK(found.all >= 5);  // five per cent under a noise of six
}

TEST_CASE("a hundred commands with planted levers", "[.single-changes-survey]") {
  for (const bool with_singles : {true, false}) {
    const FoundCounts found = found_in(100, with_singles);
    WARN((with_singles ? "with" : "without")
         << " single changes: all three levers " << found.all << ", the two large ones " << found.large
         << ", the idle one " << found.idle << " of 100");
  }
}

}  // namespace nocturne::test
