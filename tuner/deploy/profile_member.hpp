#pragma once

/// A profile and its default as two trials of a campaign of their own, measured afresh, in pairs.

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/finalist_gate.hpp"
#include "tuner/campaign/finals/named_trials.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::deploy {

/// How what a member measures with is made. Its campaign outlives both.
struct MemberFactory {
  std::function<std::unique_ptr<tuner::Executor>(const tuner::CampaignSpec&)> make_executor;
  std::function<tuner::Session(const tuner::CampaignSpec&, tuner::Executor&)> make_session;
};

class ProfileMember {
 public:
  /// Prepares both sides, measures each once, and lets the gate see whether it trains rightly. `spec`: of
  /// verification_campaign(). The error says why it cannot be measured here, or "interrupted". Nothing that was
  /// measured before is used. Blocks.
  [[nodiscard]] static std::expected<std::unique_ptr<ProfileMember>, std::string> open(
      tuner::CampaignSpec spec, const MemberFactory& factory, const space::Configuration& configuration);
  ~ProfileMember();
  ProfileMember(const ProfileMember&) = delete;
  ProfileMember& operator=(const ProfileMember&) = delete;

  [[nodiscard]] tuner::Comparing& comparing() { return *comparing_; }
  /// Expected time of one pair, as the trials say.
  [[nodiscard]] std::chrono::nanoseconds forecast() const;

 private:
  ProfileMember(tuner::CampaignSpec spec, const MemberFactory& factory);
  [[nodiscard]] std::expected<void, std::string> begin(const space::Configuration& configuration);
  /// Finds or measures; the error says who does not train here, or trains wrongly.
  [[nodiscard]] std::expected<db::StoredTrial, std::string> trial_of(const space::Configuration& configuration,
                                                                     const std::string& who, tuner::FinalistGate& gate);

  tuner::CampaignSpec spec_;
  std::unique_ptr<tuner::Executor> executor_;
  tuner::Session session_;
  tuner::NamedTrials named_;
  bool is_open_ = false;
  std::optional<db::StoredTrial> baseline_, candidate_;
  std::optional<tuner::Comparing> comparing_;
};

}  // namespace nocturne::deploy
