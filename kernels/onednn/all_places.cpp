#include "kernels/onednn/all_places.hpp"

#include <cstddef>
#include <vector>

// libgomp has these since OpenMP 4.5 (parallel.hpp says why no header of OpenMP's is included).
extern "C" {
int omp_get_num_places(void);
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* cpus);
}

namespace nocturne::onednn {
namespace {

// Empty where nothing is bound.
cpu_set_t cpus_of_places() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> cpus(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, cpus.data());
    for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &all);
  }
  return all;
}

}  // namespace

OnAllPlaces::OnAllPlaces() {
  const cpu_set_t all = cpus_of_places();
  if (CPU_COUNT(&all) == 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  widened_ = sched_setaffinity(0, sizeof all, &all) == 0;
}

OnAllPlaces::~OnAllPlaces() {
  if (widened_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace nocturne::onednn
