#include "tuner/preview/forecast.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"

using namespace nocturne;
using namespace std::chrono_literals;

namespace {

tuner::CampaignSpec with_budget(const std::string& budget, const std::string& range = "[1, 8]") {
  auto spec = tuner::parse_campaign(
      R"({"campaign": "test", "worker": {"command": ["/bin/true"]}, "run": {"steps": 12},
          "space": {"parameters": [{"name": "threads", "stage": "run", "range": )" +
          range + R"(}]}, "budget": )" + budget + "}",
      "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

}  // namespace

TEST_CASE("a campaign lasts as long as its budget of time, or as its trials are expected to take", "[preview]") {
  test::CliFixture cli;
  const db::Store empty = cli.open();
  const auto now = std::chrono::system_clock::now();
  const auto length = [&](const db::Store& store, const tuner::CampaignSpec& spec) {
    return tuner::planned_length(spec, &store, now);
  };
  CHECK(length(empty, with_budget(R"({"wall": "8h"})")) == 8h);  // nothing measured: an assumption does not shorten it
  CHECK(length(empty, with_budget(R"({"trials": 4})")).value() < 5min);
  CHECK(length(empty, with_budget(R"({"trials": 100000})", "[1, 1000000]")).value() > 10h);
  CHECK_FALSE(length(empty, with_budget("{}", "[1, 1000000000000]")));
  const auto until = length(empty, with_budget(R"({"until": "07:00"})")).value();
  CHECK((until > 0s && until <= 24h));

  const auto measured = test::fill(cli);  // trials of milliseconds
  CHECK(length(measured, with_budget(R"({"wall": "8h"})")).value() < 30min);
}
