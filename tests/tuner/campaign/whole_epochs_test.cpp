#include "tuner/campaign/finals/whole_epochs.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"

namespace nocturne::test {
namespace {

struct EpochsFixture : SessionFixture<ManualClock> {
  using SessionFixture<ManualClock>::SessionFixture;

  static tuner::CampaignSpec read() {
    auto spec = tuner::parse_campaign(R"({
      "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
      "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 6], "default": 1}]}})",
                                      "test.json", "/", space::Facts());
    if (!spec) FAIL(tuner::to_text(spec.error()));
    return std::move(*spec);
  }

  tuner::WholeEpochsResult train(tuner::WholeEpochsSettings settings = {}) {
    return with_session(spec, [&](tuner::Session& session) {
      return tuner::train_whole_epochs(session, spec.space.default_configuration(), settings);
    });
  }

  tuner::CampaignSpec spec = read();
};

}  // namespace

TEST_CASE("whole epochs are trained in fresh processes and stored with their trial", "[epochs]") {
  const CampaignFolder folder;
  EpochsFixture cli(folder);
  CHECK(cli.train().runs == 5);
  const db::Store store = cli.reading();
  const auto detail = store.load_trial(store.find_trial(store.find_campaign("test").value().id, 0).value().id);
  REQUIRE(detail.runs.size() == 1 + 5);
  CHECK(detail.runs.back().record.run.epochs.size() == 3);
  CHECK(detail.runs.back().record.run.purpose == space::Purpose::Verify);
}

TEST_CASE("no process of whole epochs is begun that would end after the time", "[epochs]") {
  const CampaignFolder folder;
  EpochsFixture cli(folder);
  const auto result = cli.train({.end = cli.clock.steady() + std::chrono::milliseconds(1)});
  CHECK(result.out_of_time);
  CHECK(result.runs == 0);
}

TEST_CASE("what does not train has no whole epochs", "[epochs]") {
  const CampaignFolder folder;
  EpochsFixture cli(folder);
  cli.executor.can_be_built = [](const space::Configuration&) { return false; };
  const auto result = cli.train();
  CHECK(result.runs == 0);
  CHECK(!result.interrupted);
}

}  // namespace nocturne::test
