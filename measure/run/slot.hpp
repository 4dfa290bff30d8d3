#pragma once

/// A machine-wide lock on the CPUs that a measurement uses: one measurement at a time on a slot, whoever started it.
///
/// One file a CPU, locked with flock(2) in ascending order: slots that overlap exclude each other, disjoint ones do
/// not, and two that wait for each other cannot lock up. The kernel releases the lock when its holder dies, however it
/// dies. The files lie in /run/lock/nocturne or, where that cannot be used, in /tmp/nocturne-slots; both are open to
/// every user (sticky folder, files of mode 0666, no link is followed), so a root campaign and a user's exclude each
/// other too.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace nocturne::measure {

/// A set of CPUs. Empty: all CPUs of the machine.
struct Slot {
  std::vector<int> cpus;
};

/// Who holds a slot, as the holder wrote it down; believed only while the lock is taken.
struct SlotHolder {
  int cpu = -1;  ///< the first CPU found taken
  std::int64_t pid = 0;
  std::string campaign;
  std::int64_t since_unix_s = 0;
  /// Its process is stopped (SIGSTOP, Ctrl-Z), so it keeps the slot until it is continued or ended. Only where the
  /// kernel itself says that this process holds the lock (/proc/locks): any user may write a number into the file, and
  /// a reader is told to send signals to it.
  bool stopped = false;
  friend bool operator==(const SlotHolder&, const SlotHolder&) = default;
};

/// One sentence: "CPU 0 is measured by campaign 'mnist' (process 4711) since 21:04:10", and, of one that is stopped,
/// the commands that continue and end it.
[[nodiscard]] std::string describe(const SlotHolder& holder);

/// Holds the lock while it lives. Move-only: a slot cannot be held twice.
class SlotLock {
 public:
  SlotLock(SlotLock&& other) noexcept;
  SlotLock& operator=(SlotLock&& other) noexcept;
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
  ~SlotLock();

  struct Refusal {
    std::optional<SlotHolder> holder;  ///< set: taken by this one
    std::string error;                 ///< set: the lock files cannot be used, or the wait was stopped; a sentence
  };

  /// Takes the slot or says at once who has it.
  [[nodiscard]] static std::expected<SlotLock, Refusal> try_take(const Slot& slot, const std::string& campaign,
                                                                 const std::filesystem::path& folder = {});
  /// Waits until the slot is free; `waiting` is called at once and whenever the holder changes, is stopped or goes on.
  [[nodiscard]] static std::expected<SlotLock, Refusal> take(const Slot& slot, const std::string& campaign,
                                                             const std::function<void(const SlotHolder&)>& waiting,
                                                             const std::stop_token& stop = {},
                                                             const std::filesystem::path& folder = {});

  [[nodiscard]] const std::vector<int>& cpus() const { return cpus_; }

 private:
  SlotLock() = default;
  void release() noexcept;
  std::vector<int> cpus_;
  std::vector<int> files_;  ///< one locked file a CPU, same order
};

}  // namespace nocturne::measure
