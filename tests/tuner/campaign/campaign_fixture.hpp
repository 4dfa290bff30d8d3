#pragma once

/// One session of a campaign with an executor without processes, in a folder of its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::test {

struct CampaignFolder {
  test::TemporaryFolder folder;
  const std::filesystem::path& path = folder.path();
};

struct CampaignWatcher final : tuner::Observer {
  std::vector<std::int64_t> numbers, recovered;
  std::size_t reused = 0;
  std::vector<std::string> notes;
  bool resumed = false;
  std::string why_anew;
  std::function<void(const space::Trial&)> after;
  std::function<void()> waiting;  ///< for the slot
  void opened(const tuner::Opening& opening) override {
    resumed = opening.resumed;
    why_anew = opening.why_anew;
    recovered = opening.recovery.trials;
  }
  void finished(const space::Trial& trial, bool again, const tuner::Progress&) override {
    numbers.push_back(trial.number);
    reused += again ? 1 : 0;
    if (after) after(trial);
  }
  void waiting_for_slot(const measure::SlotHolder& /*holder*/) override {
    if (waiting) waiting();
  }
  void note(const std::string& sentence) override { notes.push_back(sentence); }
};

/// What sessions of one campaign work with. The folder outlives it.
template <typename Clock = tuner::SystemClock>
struct SessionFixture {
  explicit SessionFixture(const CampaignFolder& folder, const std::string& database = "test.db")
      : folder_(folder), database_(folder.path / database) {}

  /// What `work` gives for a session, which ends with it.
  template <typename Work>
  auto with_session(const tuner::CampaignSpec& campaign, const Work& work) {
    auto store = db::Store::open(database_, db::Mode::ReadWrite);
    tuner::Session session{.spec = campaign,
                           .store = store,
                           .executor = executor,
                           .observer = watcher,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = [this] { return fingerprint; },
                           .fingerprint = fingerprint,
                           .slot_folder = folder_.path};
    return work(session);
  }

  [[nodiscard]] db::Store reading() const { return db::Store::open(database_, db::Mode::ReadOnly); }

  FakeExecutor executor;
  CampaignWatcher watcher;
  Clock clock;
  tuner::Interruption interruption;
  space::Fingerprint fingerprint;

 private:
  const CampaignFolder& folder_;
  std::filesystem::path database_;
};

struct CampaignFixture : SessionFixture<> {
  using SessionFixture<>::SessionFixture;

  tuner::SessionResult sit(const tuner::CampaignSpec& spec, bool fresh = false) {
    return with_session(spec, [fresh](tuner::Session& session) { return tuner::Campaign(session, fresh).run(); });
  }

  tuner::Answer answer() {
    const db::Store store = reading();
    return tuner::answer_of(store, store.load_campaign("test"));
  }
};

}  // namespace nocturne::test
