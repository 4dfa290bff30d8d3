#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

std::optional<measure::SlotLock> Sitting::take_slot() const {
  interruption.wait_while_suspended();  // every measurement begins here
  bool waited = false;
  const auto waiting = [&](const measure::SlotHolder& holder) {
    waited = true;
    observer.waiting_for_slot(holder);
  };
  auto lock = measure::SlotLock::take(measure::Slot{}, spec.name, waiting, interruption.waiting_token(), slot_folder);
  if (lock && waited) observer.slot_taken();
  if (lock) return std::move(*lock);
  if (!lock.error().holder) observer.note(lock.error().error);  // else the wait was ended
  return std::nullopt;
}

measure::RunControl Sitting::run_control() const {
  measure::RunControl control;
  control.stop = interruption.token();
  control.progress = [&watcher = observer](const measure::RunProgress& progress) { watcher.progress(progress); };
  return control;
}

}  // namespace nocturne::tuner
