#include "measure/protocol/request.hpp"

namespace nocturne::protocol {
namespace {

template <typename T>
void read(const nlohmann::json& document, const char* key, T& out) {
  const auto found = document.find(key);
  if (found == document.end() || found->is_null()) return;
  try {
    out = found->get<T>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("request: key '") + key + "': " + error.what());
  }
}

std::optional<std::string> read_path(const nlohmann::json& document, const char* key) {
  std::string path;
  read(document, key, path);
  return path.empty() ? std::nullopt : std::optional(path);
}

std::optional<GateRequest> read_gate(const nlohmann::json& document) {
  const auto found = document.find("gate");
  if (found == document.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) throw std::runtime_error("request: key 'gate': not an object");
  GateRequest gate;
  read(*found, "steps", gate.steps);
  gate.write = read_path(*found, "write");
  if (gate.steps < 1) throw std::runtime_error("request: key 'gate': it takes at least 1 step");
  return gate;
}

std::optional<CurveRequest> read_curve(const nlohmann::json& document) {
  const auto found = document.find("curve");
  if (found == document.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) throw std::runtime_error("request: key 'curve': not an object");
  CurveRequest curve;
  read(*found, "points_per_epoch", curve.points_per_epoch);
  double until = -1;
  read(*found, "until", until);
  if (found->contains("until")) curve.until = until;
  if (curve.points_per_epoch < 1) throw std::runtime_error("request: key 'curve': it has at least 1 point an epoch");
  if (curve.until && !(*curve.until >= 0 && *curve.until <= 1))
    throw std::runtime_error("request: key 'curve': 'until' is an accuracy, from 0 to 1");
  return curve;
}

// The part "workload" of a request.
void read_workload(const nlohmann::json& workload, Request& request) {
  read(workload, "network", request.network);
  read(workload, "data", request.data);
  read(workload, "data_folder", request.data_folder);
  read(workload, "skip_broken", request.skip_broken);
  read(workload, "optimizer", request.optimizer);
  read(workload, "learning_rate", request.momentum.learning_rate);
  read(workload, "momentum", request.momentum.momentum);
  read(workload, "weight_decay", request.momentum.weight_decay);
  read(workload, "label_smoothing", request.label_smoothing);
  if (!(request.momentum.learning_rate > 0) || !(request.momentum.momentum >= 0) || !(request.momentum.momentum < 1) ||
      !(request.momentum.weight_decay >= 0)) {
    throw std::runtime_error(
        "request: learning_rate must be above 0, momentum from 0 to below 1, weight_decay not negative");
  }
  if (!(request.label_smoothing >= 0) || !(request.label_smoothing < 1))
    throw std::runtime_error("request: key 'label_smoothing': it must be from 0 to below 1");
}

nlohmann::json workload_of(const Request& request) {
  nlohmann::json workload = {{"network", request.network},
                             {"data", request.data},
                             {"data_folder", request.data_folder},
                             {"optimizer", request.optimizer}};
  if (request.skip_broken) workload["skip_broken"] = true;
  if (request.label_smoothing > 0) workload["label_smoothing"] = request.label_smoothing;
  if (request.optimizer == "sgd_momentum") {
    workload["learning_rate"] = request.momentum.learning_rate;
    workload["momentum"] = request.momentum.momentum;
    workload["weight_decay"] = request.momentum.weight_decay;
  }
  return workload;
}

}  // namespace

Request parse_request(const nlohmann::json& document) {
  if (!document.is_object()) throw std::runtime_error("request: not a JSON object");
  int version = 0;
  read(document, "protocol", version);
  if (version != kVersion) {
    throw std::runtime_error("request: protocol " + std::to_string(version) + " is asked for, this worker speaks " +
                             std::to_string(kVersion));
  }
  Request request;
  read(document, "run_id", request.run_id);
  if (const auto workload = document.find("workload"); workload != document.end()) read_workload(*workload, request);
  read(document, "configuration", request.configuration);
  if (!request.configuration.is_object()) throw std::runtime_error("request: key 'configuration': not an object");
  read(document, "seed", request.seed);
  read(document, "steps", request.steps);
  read(document, "epochs", request.epochs);
  read(document, "steps_per_sample", request.steps_per_sample);
  if (request.steps < 0 || request.epochs < 0 || request.steps_per_sample < 1)
    throw std::runtime_error("request: steps and epochs must not be negative, steps_per_sample at least 1");
  std::string partial = "drop";
  read(document, "partial_batch", partial);
  if (partial != "drop" && partial != "train")
    throw std::runtime_error("request: key 'partial_batch': '" + partial + "' is neither 'drop' nor 'train'");
  request.partial_batch = partial == "train" ? PartialBatch::Train : PartialBatch::Drop;
  read(document, "accuracy", request.accuracy);
  request.curve = read_curve(document);
  request.turns = read_path(document, "turns");
  request.gate = read_gate(document);
  request.initial = read_path(document, "initial");
  return request;
}

nlohmann::json to_json(const Request& request) {
  nlohmann::json document = {{"protocol", kVersion},
                             {"run_id", request.run_id},
                             {"workload", workload_of(request)},
                             {"configuration", request.configuration},
                             {"seed", request.seed},
                             {"steps", request.steps},
                             {"epochs", request.epochs},
                             {"steps_per_sample", request.steps_per_sample},
                             {"partial_batch", request.partial_batch == PartialBatch::Train ? "train" : "drop"},
                             {"accuracy", request.accuracy}};
  if (request.curve) {
    document["curve"] = {{"points_per_epoch", request.curve->points_per_epoch}};
    if (request.curve->until) document["curve"]["until"] = *request.curve->until;
  }
  if (request.turns) document["turns"] = *request.turns;
  if (request.gate) {
    document["gate"] = {{"steps", request.gate->steps}};
    if (request.gate->write) document["gate"]["write"] = *request.gate->write;
  }
  if (request.initial) document["initial"] = *request.initial;
  return document;
}

}  // namespace nocturne::protocol
