#include "tuner/cli/output/answer_page.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace nocturne;

TEST_CASE("an accuracy's interval is two numbers, and names its sides where it has both", "[cli]") {
  CHECK(cli::accuracy_change(-0.39, -0.75, -0.03) == "0.39 points higher than the default (0.03 to 0.75)");
  CHECK(cli::accuracy_change(0.39, 0.03, 0.75) == "0.39 points lower than the default (0.03 to 0.75)");
  CHECK(cli::accuracy_change(0.1, -0.2, 0.4) == "0.10 points lower than the default (0.40 lower to 0.20 higher)");
  CHECK(cli::accuracy_change(-0.1, -0.4, 0.2) == "0.10 points higher than the default (0.20 lower to 0.40 higher)");
  CHECK(cli::accuracy_change(-0.1, -0.2, 0.001) == "0.10 points higher than the default (0.00 to 0.20)");
  CHECK(cli::accuracy_change(0, -0.2, 0.2) == "0.00 points lower than the default (0.20 lower to 0.20 higher)");
}
