#pragma once

/// A machine and a network whose bounds can be checked by hand.

#include <nlohmann/json.hpp>

namespace nocturne::test {

inline nlohmann::json sample_figure(const char* name, const char* unit, int threads, double most) {
  return {{"name", name},       {"unit", unit},        {"threads", threads}, {"kernel", "loop"},
          {"median", most - 1}, {"minimum", most - 2}, {"maximum", most},    {"relative_spread", 0.01},
          {"repeats", 5},       {"sum", 1.0},          {"right", true}};
}

/// Two CPUs: 100 and 200 GFLOP/s f32, twice that bf16; 1 MiB each with 100 GB/s, 32 MiB together with 50 and 80, memory
/// with 20 and 30.
inline nlohmann::json sample_figures() {
  nlohmann::json list = nlohmann::json::array();
  const auto add = [&list](const char* name, const char* unit, double one, double two) {
    list.push_back(sample_figure(name, unit, 1, one));
    list.push_back(sample_figure(name, unit, 2, two));
  };
  add("fma_f32", "GFLOP/s", 100, 200);
  add("fma_bf16", "GFLOP/s", 200, 400);
  add("triad_l2", "GB/s", 100, 200);
  add("triad_l3", "GB/s", 50, 80);
  add("triad", "GB/s", 20, 30);
  add("latency", "ns", 110, 120);
  list.push_back({{"name", "latency_l3"}, {"unit", "ns"}, {"threads", 2}, {"absent", "no larger than the L2"}});
  return {{"format", 1},
          {"cpus", 2},
          {"caches",
           {{{"level", 2}, {"bytes", 1 << 20}, {"sharers", 1}}, {{"level", 3}, {"bytes", 32 << 20}, {"sharers", 2}}}},
          {"memory_nodes", 1},
          {"measurements", std::move(list)},
          {"gpus", nlohmann::json::array()}};
}

/// The MNIST CNN, as nocturne-onednn --describe has it: 1,199,882 parameters, 71.6 MFLOP an image.
inline nlohmann::json sample_network() {
  using json = nlohmann::json;
  const auto layer = [](const char* name, const char* kind, const json& input, const json& output, int parameters,
                        std::int64_t forward, std::int64_t backward) {
    return json{{"name", name},
                {"kind", kind},
                {"input", input},
                {"output", output},
                {"parameters", parameters},
                {"forward_flops", forward},
                {"backward_flops", backward}};
  };
  json layers = json::array();
  layers.push_back(
      layer("conv1", "convolution", json::array({1, 28, 28}), json::array({32, 26, 26}), 320, 389'376, 389'376));
  layers.push_back(layer("conv2", "convolution", json::array({32, 26, 26}), json::array({64, 24, 24}), 18'496,
                         21'233'664, 42'467'328));
  layers.push_back(layer("pool", "max_pool", json::array({64, 24, 24}), json::array({64, 12, 12}), 0, 0, 0));
  layers.push_back(layer("dropout1", "dropout", json::array({64, 12, 12}), json::array({64, 12, 12}), 0, 0, 0));
  layers.push_back(
      layer("dense1", "dense", json::array({64, 12, 12}), json::array({128, 1, 1}), 1'179'776, 2'359'296, 4'718'592));
  layers.push_back(layer("dropout2", "dropout", json::array({128, 1, 1}), json::array({128, 1, 1}), 0, 0, 0));
  layers.push_back(layer("dense2", "dense", json::array({128, 1, 1}), json::array({10, 1, 1}), 1'290, 2'560, 5'120));
  return {{"network", "mnist_cnn"},     {"image", json::array({1, 28, 28})}, {"classes", 10},
          {"parameters", 1'199'882},    {"forward_flops", 23'984'896},       {"backward_flops", 47'580'416},
          {"layers", std::move(layers)}};
}

}  // namespace nocturne::test
