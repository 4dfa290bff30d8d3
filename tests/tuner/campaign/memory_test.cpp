// The largest batch that fits, found by a campaign and named by its model.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/cli/output/model_lines.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::string_view kTight = R"({
  "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12]},
  "space": {"parameters": [
    {"name": "batch", "stage": "run", "type": "ordinal",
     "values": [16, 32, 64, 128, 256, 384, 512, 768, 896, 1024, 1536, 2048, 4096], "default": 64},
    {"name": "threads", "stage": "run", "range": [1, 8], "default": 4},
    {"name": "wait_policy", "stage": "run", "values": ["active", "passive"], "default": "passive"}]},
  "worker": {"command": ["/bin/true"]}, "run": {"memory": "1GiB"},
  "strategy": {"name": "auto", "seed": 5}, "budget": {"trials": 40},
  "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}
})";

TEST_CASE("under a limit of memory a campaign meets it twice at most, and its model names the largest batch",
          "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.memory_limit = std::int64_t{1} << 30;
  campaign_fixture.executor.peak_bytes = [](const space::Configuration& configuration) {  // 924 images fit
    return (100 + std::get<std::int64_t>(*configuration.find("batch"))) << 20;
  };
  campaign_fixture.executor.step_seconds =
      [](const space::Configuration& configuration) {  // the larger, the faster an image
        const auto batch = static_cast<double>(std::get<std::int64_t>(*configuration.find("batch")));
        const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
        return 0.05 + 0.0005 * batch / threads;
      };
  auto spec = tuner::parse_campaign(kTight, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  static_cast<void>(campaign_fixture.sit(*spec));

  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  std::int64_t out_of_memory = 0, largest = 0;
  const auto trials = store.list_trials();
  for (const db::StoredTrial& stored : trials) {
    if (stored.trial.outcome == space::Outcome::OutOfMemory) ++out_of_memory;
    if (!stored.trial.estimate) continue;
    largest = std::max(largest, std::get<std::int64_t>(*stored.trial.configuration.find("batch")));
  }
  CHECK(out_of_memory <= 2);
  CHECK(largest == 896);

  const auto learned = tuner::learn_from(store, store.find_campaign("test").value());
  REQUIRE(learned);
  const auto lines = cli::memory_lines((*learned)->search->models().memory());
  REQUIRE_FALSE(lines.empty());
  CHECK_THAT(cli::to_text(lines[0]), ContainsSubstring("at most 92") && ContainsSubstring("images fit in 1.0 GiB"));
  const auto expected = cli::memory_json(lines)[0].at("largest_batch").at("expected").get<std::int64_t>();
  CHECK(expected >= 920);
  CHECK(expected <= 924);
}

}  // namespace
}  // namespace nocturne::test
