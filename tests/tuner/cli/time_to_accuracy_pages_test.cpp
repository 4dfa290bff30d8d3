// What the pages say of a campaign that minimises the time to an accuracy, by a worker whose curves are known.

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/cli/output/json.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

/// `tenths`: of the epochs that the target takes. An epoch has ten steps: 1280 examples in batches of 128.
json document() {
  return {
      {"campaign", "to-accuracy"},
      {"workload", {{"network", "n"}, {"data", "d"}, {"optimizer", "o"}, {"training_examples", 1280}}},
      {"worker", {{"command", {NOCTURNE_FAKE_WORKER}}}},
      {"objective",
       {{"minimise", "time_to_accuracy"}, {"accuracy", 0.9}, {"most_epochs", 8}, {"learning_parameters", {"tenths"}}}},
      {"space",
       {{"parameters",
         {{{"name", "tenths"}, {"stage", "run"}, {"values", {15, 30}}, {"default", 30}},
          {{"name", "step_us"}, {"stage", "run"}, {"values", {10000, 20000, 30000}}, {"default", 30000}}}}}},
      {"budget", {{"wall", "2min"}}},
      {"run", {{"steps", 12}, {"deadline", "60s"}}},
      {"verify", {{"gate", {{"on", false}}}}}};
}

struct Program {
  explicit Program() { make_file(folder.path() / "campaign.json", document().dump()); }
  [[nodiscard]] auto run(const std::string& words) const {
    return shell(fmt::format("'{}' --data '{}' {} 2>&1", NOCTURNE_PROGRAM, (folder.path() / "data").string(), words));
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("the pages say epochs and time to the target with intervals, and refuse a number of epochs",
          "[cli][thorough]") {
  const Program program;
  const auto tuned = program.run(fmt::format("tune '{}'", (program.folder.path() / "campaign.json").string()));
  INFO(tuned.output);
  REQUIRE(tuned.code == 0);
  CHECK_THAT(tuned.output, ContainsSubstring("learning curve 1: tenths 30"));
  CHECK_THAT(tuned.output, ContainsSubstring("times of a training to the target"));
  CHECK_THAT(tuned.output, ContainsSubstring("Target    90.00 % of the test set right, by"));
  CHECK_THAT(tuned.output, ContainsSubstring("times as fast as the default to 90.00 %"));
  CHECK_THAT(tuned.output, ContainsSubstring("trained in pairs: the best for "));

  const auto said = program.run("best --json");
  const json best = json::parse(said.output);
  for (const std::string& each : cli::deviations(best)) UNSCOPED_INFO(each);
  CHECK(cli::deviations(best).empty());
  CHECK(best["best"]["configuration"] == json({{"tenths", 15}, {"step_us", 10000}}));
  CHECK(best["target"]["accuracy"] == 0.9);
  CHECK(best["target"]["default"]["epochs"].get<double>() == Catch::Approx(3.25).margin(0.3));
  CHECK(best["target"]["best"]["epochs"].get<double>() == Catch::Approx(1.7).margin(0.3));
  CHECK(best["target"]["best"]["seconds_low"] < best["target"]["best"]["seconds"]);
  CHECK(best["target"]["best"]["seconds"] < best["target"]["best"]["one_training_high"]);
  CHECK(best["gain"]["verdict"] == "faster");
  // Half of the batch's images take as long, and an epoch has as many: a third of the time.
  const json& trained = best["target"]["trained"];
  CHECK(best["target"]["trainings"] == 2 * trained["best_epochs"].size());
  CHECK(trained["best_epochs"].size() == trained["default_epochs"].size());
  CHECK(trained["epoch_gain_percent"].get<double>() == Catch::Approx(200).margin(40));

  const json explained = json::parse(program.run("explain 0 --json").output);
  CHECK(cli::deviations(explained).empty());
  CHECK(explained["target"] == best["target"]["default"]);
  CHECK_THAT(program.run("explain 0").output, ContainsSubstring("target         3"));

  for (const char* words : {"best --epochs 12", "export --epochs 12", "pareto"}) {
    CAPTURE(words);
    const auto refused = program.run(words);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.output, ContainsSubstring("minimises the time to an accuracy"));
  }
  const auto shown = program.run("show 0 --runs");
  CHECK_THAT(shown.output, ContainsSubstring("for a training to the target"));
  CHECK_THAT(shown.output, ContainsSubstring("curve        "));
}

}  // namespace nocturne::test
