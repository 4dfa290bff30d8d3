#include "tuner/executor/failure_memory.hpp"

namespace nocturne::tuner {
namespace {

/// A network that is gone comes back, or not; an attempt may take minutes until it gives up.
constexpr int kMostRetries = 3;
constexpr std::chrono::minutes kBeforeRetry{10};

}  // namespace

const PreparationFailure* FailureMemory::find(const std::string& what) const {
  const auto known = failed_.find(what);
  if (known == failed_.end()) return nullptr;
  const FailedPreparation& failed = known->second;
  const bool again = failed.failure.unreachable && failed.times <= kMostRetries && now_() >= failed.last + kBeforeRetry;
  return again ? nullptr : &failed.failure;
}

void FailureMemory::remember(const std::string& what, const PreparationFailure& failure) {
  if (failure.outcome == space::Outcome::Killed) return;
  FailedPreparation& kept = failed_[what];
  kept.failure = failure;
  kept.failure.log_tail.clear();
  kept.last = now_();
  ++kept.times;
}

}  // namespace nocturne::tuner
