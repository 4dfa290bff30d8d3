#include "space/workload.hpp"

namespace nocturne::space {

nlohmann::json to_json(const Workload& workload) {
  nlohmann::json document = {{"network", workload.network},
                             {"data", workload.data},
                             {"optimizer", workload.optimizer},
                             {"training_examples", workload.training_examples}};
  if (!workload.data_folder.empty()) document["data_folder"] = workload.data_folder;
  if (workload.skip_broken) document["skip_broken"] = true;
  if (workload.optimizer == "sgd_momentum") {
    document["learning_rate"] = workload.learning_rate;
    document["momentum"] = workload.momentum;
    document["weight_decay"] = workload.weight_decay;
  }
  if (workload.label_smoothing > 0) document["label_smoothing"] = workload.label_smoothing;
  return document;
}

}  // namespace nocturne::space
