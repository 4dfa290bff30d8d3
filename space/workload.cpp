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

Workload workload_from_json(const nlohmann::json& document) {
  Workload workload;
  workload.network = document.value("network", workload.network);
  workload.data = document.value("data", workload.data);
  workload.optimizer = document.value("optimizer", workload.optimizer);
  workload.training_examples = document.value("training_examples", workload.training_examples);
  workload.data_folder = document.value("data_folder", workload.data_folder);
  workload.skip_broken = document.value("skip_broken", workload.skip_broken);
  workload.learning_rate = document.value("learning_rate", workload.learning_rate);
  workload.momentum = document.value("momentum", workload.momentum);
  workload.weight_decay = document.value("weight_decay", workload.weight_decay);
  workload.label_smoothing = document.value("label_smoothing", workload.label_smoothing);
  return workload;
}

}  // namespace nocturne::space
