#pragma once

/// A profile and its default as two trials of a campaign of their own, measured afresh, in pairs.

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/named_trials.hpp"
#include "tuner/campaign/sitting.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/deploy/family_verification.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// What profiles that are measured together share. All outlives them.
struct ProfileBench {
  db::Store& store;  ///< for writing
  tuner::Observer& observer;
  const tuner::Clock& clock;
  tuner::Interruption& interruption;
  const space::Fingerprint& fingerprint;
  /// Reads the document of a campaign; the error is a sentence.
  std::function<std::expected<tuner::CampaignSpec, std::string>(const nlohmann::json&)> parse;
  std::function<std::unique_ptr<tuner::Executor>(const tuner::CampaignSpec&)> make_executor;
  std::filesystem::path slot_folder = {};  ///< of the lock files; empty: the machine's
};

class ProfileMember final : public FamilyMember {
 public:
  /// Prepares both sides and measures each once. The error says why it cannot be measured here, or "interrupted".
  /// Nothing that was measured before is used. Blocks.
  [[nodiscard]] static std::expected<std::unique_ptr<ProfileMember>, std::string> open(
      const ProfileBench& bench, const Profile& profile, const VerificationSettings& settings);
  ~ProfileMember() override;
  ProfileMember(const ProfileMember&) = delete;
  ProfileMember& operator=(const ProfileMember&) = delete;

  [[nodiscard]] std::expected<bool, std::string> measure_up_to(std::int64_t pairs) override;
  [[nodiscard]] std::int64_t pairs() const override { return comparing_->pairs(); }
  [[nodiscard]] std::chrono::nanoseconds pair_time() const override;
  [[nodiscard]] std::expected<std::vector<double>, std::string> log_ratios() override;

 private:
  ProfileMember(const ProfileBench& bench, tuner::CampaignSpec spec);
  [[nodiscard]] std::expected<void, std::string> begin(const space::Configuration& configuration);
  /// Finds or measures; the error says who does not train here.
  [[nodiscard]] std::expected<db::StoredTrial, std::string> trial_of(const space::Configuration& configuration,
                                                                     const std::string& who);

  const ProfileBench& bench_;
  tuner::CampaignSpec spec_;
  std::unique_ptr<tuner::Executor> executor_;
  tuner::Sitting sitting_;
  tuner::NamedTrials named_;
  bool is_open_ = false;
  std::optional<db::StoredTrial> baseline_, candidate_;
  std::optional<tuner::Comparing> comparing_;
};

}  // namespace nocturne::deploy
