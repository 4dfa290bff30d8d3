// The stable interface of libgomp (version GOMP_4.0 and OMP_1.0): what GCC itself calls for `#pragma omp parallel`.

#include "kernels/onednn/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
// Since OpenMP 4.5.
int omp_get_num_places(void);
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* cpus);
}

namespace nocturne::onednn {
namespace {

struct Region {
  std::int64_t count, grain;
  RangeFunction body;
  const void* context;
};

void run_share(void* data) {
  const Region& region = *static_cast<const Region*>(data);
  const std::int64_t team = omp_get_num_threads(), self = omp_get_thread_num();
  const std::int64_t grains = (region.count + region.grain - 1) / region.grain;
  const std::int64_t begin = grains * self / team * region.grain;
  const std::int64_t end = std::min(region.count, grains * (self + 1) / team * region.grain);
  if (begin < end) region.body(region.context, begin, end);
}

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

void set_threads(int count) {
  omp_set_num_threads(count);
}

int threads() {
  return omp_get_max_threads();
}

void parallel_ranges(std::int64_t count, std::int64_t grain, RangeFunction body, const void* context) {
  if (count <= 0) return;
  if (count <= grain || threads() == 1) {  // waking the team would cost more than the loop
    body(context, 0, count);
    return;
  }
  Region region{count, grain, body, context};
  GOMP_parallel(run_share, &region, 0, 0);
}

OnAllPlaces::OnAllPlaces() {
  const cpu_set_t all = cpus_of_places();
  if (CPU_COUNT(&all) == 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  widened_ = sched_setaffinity(0, sizeof all, &all) == 0;
}

OnAllPlaces::~OnAllPlaces() {
  if (widened_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace nocturne::onednn
