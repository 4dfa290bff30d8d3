// What a campaign knows of its machine's peaks: as it began, in every session.

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/roofline/peak_figures.hpp"

namespace nocturne::test {
namespace {

tuner::CampaignSpec bounded_spec(int trials) {
  const std::string text = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1, 12]},
    "space": {"parameters": [
      {"name": "batch", "stage": "run", "type": "ordinal", "values": [16, 32, 64, 128, 256, 512], "default": 64},
      {"name": "threads", "stage": "run", "range": [1, 8], "default": 4},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
      {"name": "wait_policy", "stage": "run", "values": ["active", "passive"], "default": "passive"}]},
    "worker": {"command": ["/bin/true"]},
    "strategy": {"name": "auto", "seed": 3}, "budget": {"trials": )" +
                           std::to_string(trials) + R"(},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})";
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

void know_machine(const CampaignFolder& folder, double peak = 100) {
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadWrite);
  auto figures = test::sample_figures();
  figures["measurements"].push_back(test::sample_figure("fma_f32", "GFLOP/s", 8, 4 * peak));
  store.save_machine_figures({.key = tuner::figures_key({}), .fields = {}, .figures = figures});
  store.save_network("mnist_cnn", test::sample_network());
}

/// What each session but the last is to reach, then the campaign's configurations in the order of their numbers.
std::vector<space::Configuration> sit_through(const CampaignFolder& folder, const std::vector<int>& sessions,
                                              const std::function<void()>& between = {}) {
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (i > 0 && between) between();
    CampaignFixture campaign_fixture(folder);
    campaign_fixture.executor.id_suffix = std::to_string(i);
    campaign_fixture.executor.step_seconds = [](const space::Configuration& configuration) {
      const auto batch = static_cast<double>(std::get<std::int64_t>(*configuration.find("batch")));
      const auto threads = static_cast<double>(std::get<std::int64_t>(*configuration.find("threads")));
      const bool bf16 = *configuration.find("precision") == space::Value("bf16");
      return (0.002 + 0.0008 * batch / threads) * (bf16 ? 0.6 : 1);
    };
    static_cast<void>(campaign_fixture.sit(bounded_spec(sessions[i])));
    CHECK(campaign_fixture.watcher.notes.empty());  // "the strategy proposes otherwise than when this campaign began"
  }
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  const auto trials = store.list_trials();
  std::vector<space::Configuration> configurations;
  for (const auto& each : trials) configurations.push_back(each.trial.configuration);
  return configurations;
}

std::optional<tuner::PeakFigures> peaks_kept(const CampaignFolder& folder) {
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  auto peaks = tuner::peaks_of_campaign(store, store.find_campaign("test").value().id);
  return peaks;
}

TEST_CASE("a campaign on a measured machine keeps what it knew, whatever is measured later", "[campaign]") {
  const CampaignFolder whole, halves;
  know_machine(whole);
  know_machine(halves);
  const auto undisturbed = sit_through(whole, {24});
  const auto resumed = sit_through(halves, {10, 24}, [&] { know_machine(halves, 1000); });
  CHECK(resumed == undisturbed);
  const auto peaks = peaks_kept(halves);
  REQUIRE(peaks);
  CHECK(peaks->machine.rate("fma_f32", 8) == 400);
}

TEST_CASE("a campaign that began on an unknown machine does not learn of it half-way", "[campaign]") {
  const CampaignFolder never, later;
  const auto without = sit_through(never, {20});
  const auto measured_between = sit_through(later, {10, 20}, [&] { know_machine(later); });
  CHECK(measured_between == without);
  CHECK_FALSE(peaks_kept(later));
}

TEST_CASE("the model that reports are made of knows the peak figures, too", "[campaign]") {
  const CampaignFolder folder;
  know_machine(folder);
  static_cast<void>(sit_through(folder, {12}));
  auto store = db::Store::open(folder.path / "test.db", db::Mode::ReadOnly);
  const auto learned = tuner::learn_from(store, store.find_campaign("test").value());
  REQUIRE(learned);
  const auto& parameters = (*learned)->space.parameters();
  // The scales: main effects, three features of batch and threads, and the bound.
  CHECK((*learned)->search->models().times().scales().weights.size() == parameters.size() + 4);
}

}  // namespace
}  // namespace nocturne::test
