#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {

bool is_timed_whole(const WorkerChoice& worker) {
  return !worker.own.empty() && worker.own.whole();
}

std::expected<measure::Schedule, std::string> trial_schedule(const WorkerChoice& worker,
                                                             const space::Workload& workload,
                                                             const space::Configuration& configuration) {
  return measure::schedule_of(workload, is_timed_whole(worker) ? space::Configuration{} : configuration,
                              worker.own.empty() ? measure::Schedule{}.batch : 1, protocol::PartialBatch::Train);
}

}  // namespace nocturne::tuner
