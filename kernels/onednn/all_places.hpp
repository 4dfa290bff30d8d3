#pragma once

/// Where threads run that are not of OpenMP's pool.
///
/// With OMP_PROC_BIND libgomp binds the thread that loads it to the first place, and a thread begins with the affinity
/// of the one that makes it: threads that read ahead would all share the CPU of the pool's first thread.

#include <sched.h>

namespace nocturne::onednn {

/// While it lives, the calling thread, and so each that it makes, may run on the CPUs of all places; then it is bound
/// as before. Does nothing where the environment binds nothing, or the system refuses. REQUIRES: ends in the same
/// thread.
class OnAllPlaces {
 public:
  OnAllPlaces();
  OnAllPlaces(const OnAllPlaces&) = delete;
  OnAllPlaces& operator=(const OnAllPlaces&) = delete;
  ~OnAllPlaces();

 private:
  cpu_set_t before_;
  bool widened_ = false;
};

}  // namespace nocturne::onednn
