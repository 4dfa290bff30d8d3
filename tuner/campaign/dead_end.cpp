#include "tuner/campaign/dead_end.hpp"

#include <string_view>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

/// Without its numbers: process ids, sizes and times differ between failures that are the same.
std::string kind_of(std::string_view reason) {
  std::string kind;
  for (const char each : reason) {
    const bool digit = each >= '0' && each <= '9';
    if (digit && kind.ends_with('#')) continue;
    kind += digit ? '#' : each;
  }
  return kind;
}

}  // namespace

void DeadEnd::learn(const space::Trial& trial) {
  if (open_ || trial.outcome == space::Outcome::Killed) return;
  open_ = trial.outcome == space::Outcome::Ok || (failures_ > 0 && kind_of(trial.reason) != kind_of(first_reason_));
  if (failures_++ == 0) first_reason_ = trial.reason;
}

std::optional<std::string> DeadEnd::reached() const {
  if (open_ || failures_ < kFailures) return std::nullopt;
  return fmt::format(
      "nothing works: the first {} trials, the default among them, all failed alike ({}); fix that and "
      "measure again with --fresh",
      failures_, first_reason_);
}

}  // namespace nocturne::tuner
