#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

std::optional<measure::SlotLock> Sitting::take_slot() const {
  auto lock = measure::SlotLock::take(
      measure::Slot{}, spec.name, [this](const measure::SlotHolder& holder) { observer.waiting_for_slot(holder); },
      interruption.token(), slot_folder);
  if (lock) return std::move(*lock);
  if (!lock.error().error.empty() && !interruption.requested()) observer.note(lock.error().error);
  return std::nullopt;
}

}  // namespace nocturne::tuner
