#include "tuner/cli/output/answer_page.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an accuracy's interval is two numbers, and names its sides where it has both", "[cli]") {
  CHECK(cli::accuracy_change(-0.39, -0.75, -0.03) == "0.39 points higher than the default (0.03 to 0.75)");
  CHECK(cli::accuracy_change(0.39, 0.03, 0.75) == "0.39 points lower than the default (0.03 to 0.75)");
  CHECK(cli::accuracy_change(0.1, -0.2, 0.4) == "0.10 points lower than the default (0.40 lower to 0.20 higher)");
  CHECK(cli::accuracy_change(-0.1, -0.4, 0.2) == "0.10 points higher than the default (0.20 lower to 0.40 higher)");
  CHECK(cli::accuracy_change(-0.1, -0.2, 0.001) == "0.10 points higher than the default (0.00 to 0.20)");
  CHECK(cli::accuracy_change(0, -0.2, 0.2) == "0.00 points lower than the default (0.20 lower to 0.20 higher)");
}

TEST_CASE("a gain that several nodes measured names them, and says where it differs", "[cli]") {
  tuner::Answer answer;
  answer.baseline.emplace().id = 1;
  answer.baseline->trial.outcome = space::Outcome::Ok;
  answer.best.emplace().id = 2;
  answer.verdict = db::VerdictRecord{.verdict = "faster",
                                     .log_ratio_mean = -0.1,
                                     .log_ratio_low = -0.12,
                                     .log_ratio_high = -0.08,
                                     .confidence = 0.95,
                                     .pairs = 6};
  CHECK_THAT(cli::gain_sentence(answer), ContainsSubstring("6 pairs of fresh processes)"));
  answer.nodes = tuner::VerdictNodes{.nodes = 3};
  CHECK_THAT(cli::gain_sentence(answer), ContainsSubstring("6 pairs of fresh processes on 3 nodes of this class)"));
  answer.nodes->differs = true;
  CHECK_THAT(cli::gain_sentence(answer),
             ContainsSubstring("on 3 nodes of this class, between which the gain differs by more than noise)"));
}
