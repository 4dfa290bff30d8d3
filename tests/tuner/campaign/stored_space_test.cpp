#include "tuner/campaign/stored_document.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/facts_json.hpp"
#include "space/fingerprint.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"
#include "tests/space/random_space.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/installation/fake_pythons.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/installation/frameworks.hpp"

/// A campaign's space comes back from the database as it went in, with what its constraints knew of the machine.

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

/// Takes a space and its document into a database and out again.
class Archive {
 public:
  tuner::StoredSpace through(const std::string& name, const space::Space& space, const nlohmann::json& document) {
    auto store = db::Store::open(folder_.path() / "archive.db", db::Mode::ReadWrite);
    const space::Fingerprint machine;
    store.begin_or_resume_campaign({.name = name,
                                    .identity = name,
                                    .spec = document,
                                    .strategy = "auto",
                                    .seed = 1,
                                    .fingerprint = {.hash = machine.identity(), .fields = machine.to_json()},
                                    .parameters = tuner::parameter_records(space),
                                    .fresh = false});
    auto known = tuner::stored_space(store, store.find_campaign(name).value());
    if (!known) FAIL(known.error());
    return *std::move(known);
  }

 private:
  test::TemporaryFolder folder_;
};

/// Draws from one and asks the other: neither admits what the other forbids.
void check_equal(const space::Space& one, const space::Space& other) {
  for (const auto& [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
    space::Lattice lattice(*from);
    space::Random random(7);
    std::vector<space::Level> point(lattice.width());
    for (int i = 0; i < 200 && lattice.sample(random, point); ++i) {
      const auto configuration = lattice.configuration(point);
      INFO(configuration.canonical());
      REQUIRE(to->check(configuration).empty());
    }
  }
}

/// What the file says and what its stored document says are one: defaults, and what follows from the workload, too.
void check_read_alike(const tuner::CampaignSpec& spec) {
  const tuner::CampaignSections stored = tuner::sections_of(spec.document);
  CHECK(stored.workload == spec.workload);
  CHECK(stored.objective == spec.objective);
  CHECK(stored.worker.command == spec.worker.command);
  CHECK(stored.worker.own == spec.worker.own);
  CHECK(stored.strategy.name == spec.strategy.name);
  CHECK(stored.budget.wall == spec.budget.wall);
  CHECK(stored.run.steps == spec.run.steps);
  CHECK(stored.run.deadline == spec.run.deadline);
  CHECK(stored.run.memory_bytes == spec.run.memory_bytes);
  CHECK(stored.verify.method == spec.verify.method);
  CHECK(stored.verify.pairs == spec.verify.pairs);
  CHECK(stored.verify.most_pairs == spec.verify.most_pairs);
  CHECK(stored.verify.accuracy_epochs == spec.verify.accuracy_epochs);
  CHECK(stored.verify.gate.on == spec.verify.gate.on);
  const auto parameters = tuner::parameters_of(spec.document);
  REQUIRE(parameters.size() == spec.space.parameters().size());
  for (std::size_t i = 0; i < parameters.size(); ++i) CHECK(parameters[i].name == spec.space.parameters()[i].name);
}

nlohmann::json document_with(const std::vector<space::ConstraintSpec>& constraints, const space::Facts& facts) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& each : constraints) list.push_back({{"require", each.require}, {"because", each.because}});
  return {{"space", {{"constraints", std::move(list)}}},
          {tuner::kStoredMachine, {{"facts", space::to_json(facts)}, {"unavailable", nlohmann::json::array()}}}};
}

constexpr std::string_view kTwoConstraints = R"({
  "campaign": "two", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12]},
  "space": {"parameters": [
    {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19", "icx"], "default": "g++"},
    {"name": "threads", "stage": "run", "range": [1, 64], "default": 4}],
   "constraints": [
    {"require": "compiler in machine.compilers", "because": "it is not installed"},
    {"require": "threads <= machine.threads", "because": "there are no more"}]},
  "worker": {"command": ["/bin/true"]}
})";

}  // namespace

TEST_CASE("constraints over the machine hold in the database as they held where it was tuned", "[campaign]") {
  const auto spec = tuner::parse_campaign(kTwoConstraints, "two.json", "/", sample_facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  Archive archive;
  const auto known = archive.through("two", spec->space, spec->document);
  CHECK(known.without.empty());
  CHECK(known.space.constraints().size() == 2);
  CHECK(known.facts == tuner::stored_facts(spec->document));
  check_equal(spec->space, known.space);
  space::Configuration forbidden = spec->space.default_configuration();
  forbidden.set("compiler", std::string("icx"));
  CHECK_FALSE(known.space.check(forbidden).empty());
}

TEST_CASE("a constraint that cannot be evaluated is named and left out alone", "[campaign]") {
  const auto spec = tuner::parse_campaign(kTwoConstraints, "two.json", "/", sample_facts());
  REQUIRE(spec);
  nlohmann::json document = spec->document;
  document[tuner::kStoredMachine]["facts"].erase("machine.compilers");
  Archive archive;
  const auto known = archive.through("two", spec->space, document);
  REQUIRE(known.without.size() == 1);
  CHECK_THAT(known.without[0], ContainsSubstring("'compiler in machine.compilers'") && ContainsSubstring("machine"));
  REQUIRE(known.space.constraints().size() == 1);
  space::Configuration forbidden = spec->space.default_configuration();
  forbidden.set("threads", std::int64_t{17});
  CHECK_FALSE(known.space.check(forbidden).empty());
}

TEST_CASE("a space that was read without a compiler comes back as it was read", "[campaign]") {
  space::Facts facts = sample_facts();
  facts.set("machine.compilers", std::vector<std::string>{});
  facts.set("machine.can_build", false);
  nlohmann::json document = nlohmann::json::parse(kTwoConstraints);
  document.erase("worker");
  const auto spec = tuner::parse_campaign(document.dump(), "two.json", "/", facts);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  REQUIRE_FALSE(spec->shipped_build.empty());
  Archive archive;
  const auto known = archive.through("two", spec->space, spec->document);
  CHECK(known.without.empty());
  check_equal(spec->space, known.space);
}

TEST_CASE("every shipped campaign comes back from the database with its space", "[campaign]") {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks({.source_root = NOCTURNE_SOURCE_DIR,
                                      .environments = pythons.environments(),
                                      .pythons = [places = pythons.places()] { return places; }});
  Archive archive;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(NOCTURNE_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".json") continue;
    const auto spec = tuner::load_campaign(entry.path(), sample_facts(), &frameworks);
    if (!spec) continue;  // for GPUs; examples_test.cpp says which may
    CAPTURE(entry.path());
    const auto known = archive.through(entry.path().stem(), spec->space, spec->document);
    CHECK(known.without.empty());
    CHECK(known.space.constraints().size() == spec->space.constraints().size());
    check_equal(spec->space, known.space);
    check_read_alike(*spec);
    ++count;
  }
  CHECK(count >= 6);
}

TEST_CASE("the scale of a range and the values of a boolean come back from the database", "[campaign]") {
  const std::vector<space::ParameterSpec> parameters = {
      {.name = "rate", .domain = space::RealRangeSpec{.lower = 1e-4, .upper = 1.0, .logarithmic = true}},
      {.name = "steps", .domain = space::IntegerRangeSpec{.lower = std::int64_t{2}, .upper = std::int64_t{20}}},
      {.name = "xla", .domain = space::BooleanSpec{}}};
  const auto space = space::Space::create(parameters, {}, {});
  REQUIRE(space);
  const auto records = tuner::parameter_records(*space);
  REQUIRE(records.size() == 3);
  CHECK(records[0].domain.at("scale") == "logarithmic");
  CHECK(records[2].domain.at("values") == nlohmann::json::array({false, true}));
  Archive archive;
  const auto known = archive.through("scale", *space, document_with({}, {}));
  CHECK(known.space.parameters()[0].logarithmic);
  CHECK_FALSE(known.space.parameters()[1].logarithmic);
  CHECK(known.space.parameters()[2].kind == space::Kind::Boolean);
}

TEST_CASE("a command of one's own is judged by what follows from it, from the database as from its file",
          "[campaign]") {
  const auto spec = tuner::parse_campaign(R"({
    "campaign": "own", "objective": {"minimise": "time"},
    "space": {"parameters": [{"name": "n", "stage": "run", "values": [1, 2]}]},
    "worker": {"template": ["/bin/true", "{n}"]}})",
                                          "own.json", "/", sample_facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  check_read_alike(*spec);
  CHECK(tuner::sections_of(spec->document).verify.accuracy_epochs == 0);
}

TEST_CASE("random spaces with constraints over the machine come back from the database", "[campaign]") {
  space::Facts facts = sample_facts();
  facts.set("machine.spare", std::int64_t{2});
  Archive archive;
  int restrained = 0;
  std::uint64_t seed = 1;
  for (int i = 0; i < 200; ++i, ++seed) {
    CAPTURE(seed);
    space::test::Description description;
    const auto plain = space::test::random_space(seed, description);
    for (const auto& parameter : description.parameters) {  // what is text is not compared with a number
      if (std::holds_alternative<space::CategoricalSpec>(parameter.domain)) continue;
      description.constraints.push_back(
          {.require = fmt::format("{} <= machine.spare", parameter.name), .because = "so"});
    }
    const auto space = space::Space::create(description.parameters, description.constraints, facts);
    if (!space) continue;  // nothing is left of it
    const auto known =
        archive.through(fmt::format("random-{}", i), *space, document_with(description.constraints, facts));
    CHECK(known.without.empty());
    check_equal(*space, known.space);
    if (description.constraints.size() > 0) ++restrained;
  }
  CHECK(restrained >= 100);
}

}  // namespace nocturne::test
