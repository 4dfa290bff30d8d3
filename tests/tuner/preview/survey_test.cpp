#include "tuner/preview/survey.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace nocturne;

namespace {

space::ParameterSpec list(const std::string& name, space::Stage stage, std::vector<space::Value> values) {
  return {.name = name,
          .stage = stage,
          .domain = space::CategoricalSpec{std::move(values)},
          .default_value = {},
          .unit = "",
          .description = "",
          .active_if = ""};
}

space::ParameterSpec range(const std::string& name, std::int64_t upper) {
  return {.name = name,
          .stage = space::Stage::Run,
          .domain = space::IntegerRangeSpec{std::int64_t{1}, upper, std::int64_t{1}, false},
          .default_value = {},
          .unit = "",
          .description = "",
          .active_if = ""};
}

const std::vector<space::ParameterSpec> kParameters = {
    list("compiler", space::Stage::Build, {std::string("g++"), std::string("clang++")}),
    list("level", space::Stage::Build, {std::string("O2"), std::string("O3")}), range("threads", 8), range("batch", 4)};

tuner::Survey survey_of(const std::vector<space::ParameterSpec>& parameters,
                        const std::vector<space::ConstraintSpec>& constraints) {
  const auto space = space::Space::create(parameters, constraints, {});
  REQUIRE(space);
  return tuner::survey(*space, {});
}

}  // namespace

TEST_CASE("a survey says what each constraint forbids by itself", "[preview]") {
  const auto survey =
      survey_of(kParameters, {{"threads <= 6", "few"}, {"threads * batch <= 8", "small"}, {"batch > 0", "idle"}});
  CHECK(survey.combinations.count == space::Count(2 * 2 * 8 * 4));
  REQUIRE(survey.constraints.size() == 3);
  CHECK(survey.constraints[0].removed == space::Count(2 * 2 * 2 * 4));
  // threads·batch ≤ 8 leaves 8 + 4 + 2 + 2 of 32.
  CHECK(survey.constraints[1].removed == space::Count(2 * 2 * 16));
  CHECK(survey.constraints[2].removed == space::Count(0));
  // 6 + 4 + 2 + 2 satisfy all.
  CHECK(survey.valid.count == space::Count(2 * 2 * 14));
}

TEST_CASE("builds are the different values of what is prepared, across stages", "[preview]") {
  CHECK(survey_of(kParameters, {}).builds.size.count == space::Count(4));
  CHECK(survey_of(kParameters, {{"compiler == 'g++' or level == 'O3'", "together"}}).builds.size.count ==
        space::Count(3));
  // A constraint that joins a build parameter with one of the run can forbid a build entirely.
  const auto joined = survey_of(kParameters, {{"level == 'O2' or threads > 8", "never"}});
  CHECK(joined.builds.size.count == space::Count(2));
  CHECK_FALSE(joined.builds.at_most);
  CHECK(survey_of({range("threads", 8)}, {}).builds.size.count == space::Count(1));
}

TEST_CASE("builds of a space too large to walk are an upper bound where stages are joined", "[preview]") {
  std::vector<space::ParameterSpec> parameters = kParameters;
  for (int i = 0; i < 6; ++i) parameters.push_back(range("p" + std::to_string(i), 10));
  const auto joined = survey_of(parameters, {{"level == 'O2' or threads > 8", "never"}, {"compiler == 'g++'", "one"}});
  CHECK(joined.builds.at_most);
  CHECK(joined.builds.size.count == space::Count(2));
  CHECK_FALSE(survey_of(parameters, {{"compiler == 'g++'", "one"}}).builds.at_most);
}

TEST_CASE("conditions of activity count as combinations, not as constraints", "[preview]") {
  std::vector<space::ParameterSpec> parameters = kParameters;
  parameters[3].active_if = "threads > 4";
  const auto survey = survey_of(parameters, {{"threads < 7", "fewer"}});
  CHECK(survey.combinations.count == space::Count(2 * 2 * (4 + 4 * 4)));
  CHECK(survey.constraints[0].removed == space::Count(2 * 2 * 2 * 4));
}

TEST_CASE("without patience no constraint is counted", "[preview]") {
  const std::vector<space::ConstraintSpec> constraints = {{"threads < 7", "fewer"}};
  const auto space = space::Space::create(kParameters, constraints, {});
  REQUIRE(space);
  const auto survey = tuner::survey(*space, {}, std::chrono::milliseconds(0));
  REQUIRE(survey.constraints.size() == 1);
  CHECK_FALSE(survey.constraints[0].removed);
}

TEST_CASE("ranges, booleans and real numbers survive the survey", "[preview]") {
  std::vector<space::ParameterSpec> parameters = {range("threads", 8)};
  parameters.push_back({.name = "lto",
                        .stage = space::Stage::Build,
                        .domain = space::BooleanSpec{},
                        .default_value = {},
                        .unit = "",
                        .description = "",
                        .active_if = ""});
  CHECK(survey_of(parameters, {{"lto or threads < 7", "x"}}).constraints[0].removed == space::Count(2));
  parameters.push_back({.name = "rate",
                        .stage = space::Stage::Run,
                        .domain = space::RealRangeSpec{0.001, 1.0, true},
                        .default_value = {},
                        .unit = "",
                        .description = "",
                        .active_if = ""});
  const auto survey = survey_of(parameters, {{"rate < 0.5 or threads > 2", "x"}});
  CHECK(survey.valid.kind == space::Size::Kind::Infinite);
  CHECK_FALSE(survey.constraints[0].removed);
}
