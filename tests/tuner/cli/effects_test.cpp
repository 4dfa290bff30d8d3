#include "tuner/cli/explaining/effects.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace nocturne;

namespace {

/// T(1) = `seconds`.
space::Trial trial(std::int64_t number, std::int64_t batch, std::optional<bool> xla, double seconds) {
  space::Trial result{.number = number,
                      .configuration = {},
                      .fidelity = {},
                      .outcome = space::Outcome::Ok,
                      .reason = "",
                      .estimate = {},
                      .parts = {}};
  result.configuration.set("batch", batch);
  if (xla) result.configuration.set("xla", *xla);
  result.configuration.set("framework", std::string("one for all"));
  if (seconds > 0)
    result.parts = space::Parts{.import = seconds};
  else
    result.outcome = space::Outcome::Crashed;
  return result;
}

}  // namespace

TEST_CASE("effects average what was measured and compare what differs in one parameter", "[cli]") {
  const std::vector trials = {trial(0, 32, false, 8), trial(1, 64, false, 2), trial(2, 32, true, 16),
                              trial(3, 64, true, 1),  trial(4, 96, true, 0),  trial(5, 128, {}, 5)};
  const auto effects = cli::effects_of(trials, 1);
  REQUIRE(effects.size() == 2);  // framework never varied

  const cli::ParameterEffect& batch = effects[0];
  CHECK(batch.parameter == "batch");
  CHECK(batch.default_value == space::Value(std::int64_t{32}));
  REQUIRE(batch.values.size() == 4);
  CHECK(batch.values[0].measured == 2);
  CHECK(batch.values[0].mean == Catch::Approx(std::sqrt(8.0 * 16)));
  CHECK(batch.values[0].fastest == 8);
  CHECK(batch.values[0].slowest == 16);
  CHECK_FALSE(batch.values[0].ratio);
  // 64 against 32: 2/8 without xla, 1/16 with it.
  CHECK(batch.values[1].matched == 2);
  CHECK(batch.values[1].ratio.value() == Catch::Approx(std::sqrt(0.25 / 16)));
  CHECK(batch.values[2].measured == 0);
  CHECK(batch.values[2].failed == 1);
  CHECK(batch.values[2].mean == 0);
  CHECK(batch.values[3].matched == 0);

  const cli::ParameterEffect& xla = effects[1];
  REQUIRE(xla.values.size() == 3);
  CHECK_FALSE(xla.values[0].value);  // inactive in trial 5
  CHECK(xla.values[2].value == space::Value(true));
  CHECK(xla.values[2].ratio.value() == Catch::Approx(1.0));  // 16/8 and 1/2
  CHECK(xla.values[2].failed == 1);
}

TEST_CASE("nothing tried has no effects", "[cli]") {
  CHECK(cli::effects_of({}, 1).empty());
}
