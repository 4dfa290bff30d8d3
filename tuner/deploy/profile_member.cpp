#include "tuner/deploy/profile_member.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "space/outcome.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::deploy {

ProfileMember::ProfileMember(const ProfileBench& bench, tuner::CampaignSpec spec)
    : bench_(bench),
      spec_(std::move(spec)),
      executor_(bench.make_executor(spec_)),
      sitting_{.spec = spec_,
               .store = bench.store,
               .executor = *executor_,
               .observer = bench.observer,
               .clock = bench.clock,
               .interruption = bench.interruption,
               .fingerprint_now = {},
               .fingerprint = bench.fingerprint,
               .slot_folder = bench.slot_folder},
      named_(sitting_) {}

ProfileMember::~ProfileMember() {
  if (!is_open_) return;
  static_cast<void>(bench_.store.finish_campaign(sitting_.campaign));
  static_cast<void>(named_.close());
}

std::expected<std::unique_ptr<ProfileMember>, std::string> ProfileMember::open(const ProfileBench& bench,
                                                                               const Profile& profile,
                                                                               const VerificationSettings& settings) {
  const auto document = verification_campaign(profile, settings);
  if (!document) return std::unexpected(document.error());
  auto spec = bench.parse(*document);
  if (!spec) return std::unexpected(spec.error());
  std::unique_ptr<ProfileMember> member(new ProfileMember(bench, std::move(*spec)));
  if (auto begun = member->begin(profile.configuration); !begun) return std::unexpected(begun.error());
  return member;
}

std::expected<db::StoredTrial, std::string> ProfileMember::trial_of(const space::Configuration& configuration,
                                                                    const std::string& who) {
  auto trial = named_.trial_of(configuration);
  if (!trial) return std::unexpected(trial.error().message);
  if (!*trial) return std::unexpected("interrupted");
  const space::Trial& measured = (*trial)->trial;
  if (measured.outcome != space::Outcome::Ok) {
    return std::unexpected(
        fmt::format("{} does not train here: {}: {}", who, space::to_text(measured.outcome), measured.reason));
  }
  return std::move(**trial);
}

std::expected<void, std::string> ProfileMember::begin(const space::Configuration& configuration) {
  if (auto opened = named_.open(true); !opened) return std::unexpected(opened.error().message);
  is_open_ = true;
  auto baseline = trial_of(spec_.space.default_configuration(), "the default");
  if (!baseline) return std::unexpected(baseline.error());
  auto candidate = trial_of(configuration, "the profile");
  if (!candidate) return std::unexpected(candidate.error());
  baseline_ = std::move(*baseline);
  candidate_ = std::move(*candidate);
  auto comparing = tuner::Comparing::open(sitting_, *baseline_, *candidate_, tuner::kVerifyRole);
  if (!comparing) return std::unexpected(comparing.error().message);
  if (!*comparing) return std::unexpected("it cannot be prepared a second time");
  comparing_ = std::move(**comparing);
  return {};
}

std::expected<bool, std::string> ProfileMember::measure_up_to(std::int64_t pairs) {
  const auto measured = comparing_->measure_up_to(pairs);
  if (!measured) return std::unexpected(measured.error().message);
  return *measured;
}

std::chrono::nanoseconds ProfileMember::pair_time() const {
  return std::max(comparing_->pair_time(), tuner::forecast_pair(spec_.verify, tuner::paced(spec_, *baseline_),
                                                                tuner::paced(spec_, *candidate_)));
}

std::expected<std::vector<double>, std::string> ProfileMember::log_ratios() {
  auto found = comparing_->ratios();
  if (!found) return std::unexpected(found.error().message);
  return std::move((*found)[comparing_->primary_horizon()]);
}

}  // namespace nocturne::deploy
