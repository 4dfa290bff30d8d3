#include "kernels/machine/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <barrier>
#include <thread>

namespace nocturne::machine {

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // without it the scheduler decides
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

std::chrono::nanoseconds time_together(const std::vector<int>& cpus, const std::function<void(std::size_t)>& prepare,
                                       const std::function<void(std::size_t)>& work) {
  using std::chrono::steady_clock;
  steady_clock::time_point begin, end;
  int meetings = 0;  // written by the last thread to arrive, while all others wait
  const auto note_time = [&]() noexcept { (meetings++ == 0 ? begin : end) = steady_clock::now(); };
  std::barrier meeting(static_cast<std::ptrdiff_t>(cpus.size()), note_time);
  {
    std::vector<std::jthread> threads;
    const auto member = [&](std::size_t i) {
      if (cpus.size() > 1) pin_to(cpus[i]);
      prepare(i);
      meeting.arrive_and_wait();
      work(i);
      meeting.arrive_and_wait();
    };
    try {
      for (std::size_t i = 0; i < cpus.size(); ++i) threads.emplace_back(member, i);
    } catch (...) {  // no more threads are granted: those that wait must not wait for the others
      for (std::size_t missing = threads.size(); missing < cpus.size(); ++missing) meeting.arrive_and_drop();
      throw;
    }
  }
  return end - begin;
}

}  // namespace nocturne::machine
