#pragma once

/// Threads that do the same thing at the same time, each on a CPU of its own.

#include <chrono>
#include <functional>
#include <vector>

namespace nocturne::machine {

/// CPUs this process may use, ascending.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Binds the calling thread to that CPU: a wish.
void pin_to(int cpu);

/// Runs work(0) … work(count − 1), each in a thread of its own (pinned to the CPU of that index where count > 1), and
/// returns the time from the moment all were ready to the moment the last one ended. `prepare` runs before in the same
/// thread and is not timed: memory it touches first lies near. Neither may throw. Throws std::system_error where the
/// system does not grant the threads.
[[nodiscard]] std::chrono::nanoseconds time_together(const std::vector<int>& cpus,
                                                     const std::function<void(std::size_t)>& prepare,
                                                     const std::function<void(std::size_t)>& work);

}  // namespace nocturne::machine
