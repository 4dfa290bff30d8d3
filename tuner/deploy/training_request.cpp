#include "tuner/deploy/training_request.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::deploy {

protocol::Request training_request(const Profile& profile) {
  protocol::Request request;
  request.run_id = "exported-" + file_stem(profile.campaign);
  request.network = profile.workload.network;
  request.data = profile.workload.data;
  request.data_folder = profile.training.data_folder.string();
  request.skip_broken = profile.workload.skip_broken;
  request.optimizer = profile.workload.optimizer;
  request.momentum = {.learning_rate = profile.workload.learning_rate,
                      .momentum = profile.workload.momentum,
                      .weight_decay = profile.workload.weight_decay};
  request.label_smoothing = profile.workload.label_smoothing;
  request.configuration = profile.configuration.to_json();
  request.seed = profile.training.seed;
  request.steps = 0;
  request.epochs = std::max<std::int64_t>(1, std::llround(std::min(profile.epochs, 1e9)));
  request.steps_per_sample = profile.training.steps_per_sample;
  request.partial_batch =
      profile.training.partial_batch == "train" ? protocol::PartialBatch::Train : protocol::PartialBatch::Drop;
  request.accuracy = !profile.workload.is_synthetic();
  return request;
}

}  // namespace nocturne::deploy
