#pragma once

/// A small campaign of the fake worker, as a document.

#include <string>

#include <nlohmann/json.hpp>

namespace nocturne::test {

/// Six configurations. `mode`: what the fake worker does.
inline nlohmann::json fake_worker_campaign(const std::string& mode) {
  return {{"campaign", "test"},
          {"workload", {{"network", "mnist_cnn"}, {"data", "mnist"}, {"optimizer", "adadelta"}}},
          {"objective", {{"minimise", "time"}, {"epochs", {1, 12}}}},
          {"worker", {{"command", {NOCTURNE_FAKE_WORKER, "--mode", mode}}}},
          {"space",
           {{"parameters",
             {{{"name", "batch"}, {"stage", "run"}, {"values", {32, 64, 128}}, {"type", "ordinal"}, {"default", 128}},
              {{"name", "precision"}, {"stage", "run"}, {"values", {"f32", "bf16"}}, {"default", "f32"}}}}}},
          {"strategy", {{"name", "random"}, {"seed", 5}}},
          {"budget", {{"trials", 8}}},
          {"run", {{"steps", 12}, {"deadline", "60s"}, {"repeats", 2}}},
          {"verify",
           {{"pairs", 2},
            {"most_pairs", 2},
            {"finalists", 1},
            {"simplify", false},
            {"slices", 2},
            {"slice_steps", 2},
            {"accuracy_epochs", 0},
            {"gate", {{"on", false}}}}}};
}

}  // namespace nocturne::test
