#include "tuner/cli/output/answer_page.hpp"

#include <sstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tuner/campaign/answer/failure_groups.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

tuner::Answer failed_answer(const std::vector<std::string>& reasons) {
  tuner::Answer answer;
  answer.campaign.name = "evening";
  answer.campaign.generation = 2;
  for (const std::string& reason : reasons) {
    db::StoredTrial trial;
    trial.trial.number = static_cast<std::int64_t>(answer.failures.size()) + 10;
    trial.trial.outcome = space::Outcome::Unsupported;
    trial.trial.reason = reason;
    answer.failures.push_back(trial);
    ++answer.outcomes[trial.trial.outcome];
  }
  return answer;
}

std::string failure_page(const std::vector<std::string>& reasons) {
  std::ostringstream out;
  cli::Context context;
  context.out = &out;
  cli::print_failures(context, failed_answer(reasons));
  return out.str();
}

}  // namespace

TEST_CASE("failures that say the same are one line with their trials", "[cli]") {
  const auto groups = tuner::grouped(failed_answer({"a", "b", "a"}).failures);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].trials == std::vector<std::int64_t>{10, 12});
  CHECK(groups[1].reason == "b");
  CHECK(failure_page({"a", "b", "a"}) ==
        "Tried     3 configurations: 3 unsupported\n"
        "          trials 10, 12: unsupported: a\n"
        "          trial 11: unsupported: b\n"
        "          all of them:\n"
        "          nocturne list trials evening --generation 2 --outcome failed\n");
  CHECK_THAT(failure_page({"a", "a", "a", "a", "a"}),
             ContainsSubstring("5 trials (10, 11, 12, 13, …): unsupported: a"));
}

TEST_CASE("of many reasons the first are shown, and the command that lists the rest", "[cli]") {
  CHECK_THAT(
      failure_page({"a", "b", "c", "d", "d"}),
      ContainsSubstring("trial 12: unsupported: c\n") && !ContainsSubstring(": d") &&
          ContainsSubstring("and 2 more:\n          nocturne list trials evening --generation 2 --outcome failed"));
  CHECK(failure_page({"a"}) ==
        "Tried     1 configuration: 1 unsupported\n"
        "          trial 10: unsupported: a\n");
}
