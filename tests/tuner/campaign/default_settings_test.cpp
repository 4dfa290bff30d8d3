#include "tuner/campaign/answer/default_settings.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::test {
namespace {

const nlohmann::json kDocument = {{"space",
                                   {{"parameters",
                                     {{{"name", "threads"}, {"stage", "run"}, {"values", {2, 4, 8}}, {"default", 4}},
                                      {{"name", "batch"}, {"stage", "run"}, {"values", {64, 128}}, {"default", 64}},
                                      {{"name", "compile"}, {"stage", "run"}, {"type", "boolean"}, {"default", false}},
                                      {{"name", "affinity"},
                                       {"stage", "run"},
                                       {"type", "categorical"},
                                       {"values", {"close", "spread"}},
                                       {"default", "close"}}}}}}};

db::StoredTrial trial(std::int64_t number, const space::Configuration::Values& values) {
  db::StoredTrial stored;
  stored.trial.number = number;
  stored.trial.configuration = space::Configuration(values);
  return stored;
}

}  // namespace

TEST_CASE("a configuration is written as its difference from the default, in the order of the campaign file",
          "[settings]") {
  const tuner::DefaultSettings defaults(kDocument, {});
  const space::Configuration other(
      {{"affinity", std::string("spread")}, {"batch", std::int64_t{64}}, {"threads", std::int64_t{8}}, {"zeal", true}});
  CHECK(defaults.text(other) == "threads=8 affinity=spread zeal=true");
  CHECK(defaults.differing(other).find("batch") == nullptr);
}

TEST_CASE("what has the default's values is called the default, with parameters inactive or not", "[settings]") {
  const tuner::DefaultSettings defaults(kDocument, {});
  CHECK(defaults.text(space::Configuration({{"threads", std::int64_t{4}}, {"batch", std::int64_t{64}}})) == "default");
  CHECK(defaults.text({}) == "default");
}

TEST_CASE("trial 0 says what the default is, and the file what is inactive in it", "[settings]") {
  const std::vector<db::StoredTrial> trials = {trial(3, {{"threads", std::int64_t{1}}}),
                                               trial(0, {{"threads", std::int64_t{2}}})};
  const tuner::DefaultSettings defaults(kDocument, trials);
  CHECK(defaults.text(space::Configuration({{"threads", std::int64_t{2}}, {"compile", false}})) == "default");
  CHECK(defaults.text(space::Configuration({{"threads", std::int64_t{4}}, {"compile", true}})) ==
        "threads=4 compile=true");
}

}  // namespace nocturne::test
