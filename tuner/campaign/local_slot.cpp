#include "tuner/campaign/local_slot.hpp"

#include <utility>

#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {

void LocalSlot::submit(TrialOrder order) {
  order_ = std::move(order);
  suspensions_ = session_.interruption.suspensions();
}

TrialAnswer LocalSlot::next() {
  auto answer = TrialRunner(session_).execute(*order_);
  order_.reset();
  const bool cut_short = answer.end == TrialAnswer::End::Interrupted;
  if (cut_short && session_.interruption.again_after_suspension(suspensions_)) {
    answer.end = TrialAnswer::End::Suspended;
  }
  return answer;
}

}  // namespace nocturne::tuner
