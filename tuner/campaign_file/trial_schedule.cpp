#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {

std::expected<measure::Schedule, std::string> trial_schedule(const WorkerChoice& worker,
                                                             const space::Workload& workload,
                                                             const space::Configuration& configuration) {
  const bool own = !worker.own.empty();
  return measure::schedule_of(workload, own && worker.own.whole() ? space::Configuration{} : configuration,
                              own ? 1 : measure::Schedule{}.batch, protocol::PartialBatch::Train);
}

}  // namespace nocturne::tuner
