#include "tuner/campaign/clock.hpp"

#include <fmt/format.h>

#include "tuner/campaign_file/quantity.hpp"

namespace nocturne::tuner {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::minutes kSmall{2};

std::string rounded(nanoseconds time) {
  return duration_text(std::chrono::round<std::chrono::seconds>(time));
}

}  // namespace

ClockWatch::ClockWatch(const Clock& clock)
    : clock_(clock),
      steady_(clock.steady()),
      wall_(clock.wall()),
      slept_(clock.slept()),
      stood_still_(clock.stood_still()) {}

nanoseconds ClockWatch::ahead() const {
  return (clock_.wall() - wall_) - (clock_.steady() - steady_) - (clock_.slept() - slept_) -
         (clock_.stood_still() - stood_still_);
}

std::chrono::system_clock::time_point ClockWatch::began() const {
  return wall_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(ahead());
}

std::optional<std::string> ClockWatch::look() {
  const nanoseconds slept = clock_.slept() - slept_ - known_sleep_;
  if (slept >= kSmall) {
    known_sleep_ += slept;
    return fmt::format("the machine slept for {}; what was measured holds", rounded(slept));
  }
  const nanoseconds jump = ahead() - known_ahead_;
  if (jump < kSmall && jump > -kSmall) return std::nullopt;
  known_ahead_ += jump;
  return fmt::format("the wall clock was set {} by {}; what was measured holds, durations come from another clock",
                     jump.count() > 0 ? "forward" : "back", rounded(jump.count() > 0 ? jump : -jump));
}

}  // namespace nocturne::tuner
