#include "tuner/deploy/profile_member.hpp"

#include <utility>

#include <fmt/format.h>

#include "space/outcome.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::deploy {

ProfileMember::ProfileMember(tuner::CampaignSpec spec, const MemberFactory& factory)
    : spec_(std::move(spec)),
      executor_(factory.make_executor(spec_)),
      session_(factory.make_session(spec_, *executor_)),
      named_(session_) {}

ProfileMember::~ProfileMember() {
  if (!is_open_) return;
  try {
    session_.store.finish_campaign(session_.campaign);
    named_.close();
  } catch (const db::Error&) {
    // What was measured is stored; the lease of a process that ends counts for nothing.
  }
}

std::expected<std::unique_ptr<ProfileMember>, std::string> ProfileMember::open(
    tuner::CampaignSpec spec, const MemberFactory& factory, const space::Configuration& configuration) {
  std::unique_ptr<ProfileMember> member(new ProfileMember(std::move(spec), factory));
  if (auto begun = member->begin(configuration); !begun) return std::unexpected(begun.error());
  return member;
}

std::expected<db::StoredTrial, std::string> ProfileMember::trial_of(const space::Configuration& configuration,
                                                                    const std::string& who, tuner::FinalistGate& gate) {
  auto trial = named_.trial_of(configuration);
  if (!trial) return std::unexpected("interrupted");
  if (trial->trial.outcome == space::Outcome::Ok) {
    const auto admission = gate.admits(*trial);
    if (admission == tuner::Admission::Interrupted) return std::unexpected("interrupted");
    if (may_win(admission)) return *std::move(trial);
    trial = session_.store.load_numbered_trial(session_.campaign, trial->trial.number);  // with the reason
  }
  const space::Trial& failed = trial->trial;
  return std::unexpected(
      fmt::format("{} does not train here: {}: {}", who, space::to_text(failed.outcome), failed.reason));
}

std::expected<void, std::string> ProfileMember::begin(const space::Configuration& configuration) {
  named_.open(true);
  is_open_ = true;
  // What cannot be prepared at all is said before the default is measured.
  if (const auto prepared = session_.prepare(configuration); !prepared) {
    return std::unexpected(fmt::format("the profile does not train here: {}: {}",
                                       space::to_text(prepared.error().outcome), prepared.error().reason));
  }
  tuner::FinalistGate gate(session_, std::nullopt);
  auto baseline = trial_of(spec_.space.default_configuration(), "the default", gate);
  if (!baseline) return std::unexpected(baseline.error());
  auto candidate = trial_of(configuration, "the profile", gate);
  if (!candidate) return std::unexpected(candidate.error());
  baseline_ = std::move(*baseline);
  candidate_ = std::move(*candidate);
  auto comparing = tuner::Comparing::open(session_, *baseline_, *candidate_, tuner::kVerifyRole);
  if (!comparing) return std::unexpected("it cannot be prepared a second time");
  comparing_ = std::move(*comparing);
  return {};
}

std::chrono::nanoseconds ProfileMember::forecast() const {
  return tuner::forecast_pair(spec_.verify, tuner::pace_of(spec_, *baseline_), tuner::pace_of(spec_, *candidate_));
}

}  // namespace nocturne::deploy
