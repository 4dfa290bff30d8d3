#pragma once

/// A good campaign file, and what reading it with one place changed gives.

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {

inline constexpr const char* kGood = R"({
  "campaign": "evening",
  "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
  "objective": {"minimise": "time", "epochs": [1, 12, 90]},
  "space": {
    "parameters": [
      {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19"]},
      {"name": "precision", "stage": "run", "values": ["f32", "bf16"], "default": "f32"},
      {"name": "threads", "stage": "run", "range": [1, "machine.cores"], "default": "machine.cores"},
      {"name": "batch", "stage": "run", "values": [32, 64, 128], "default": 128}
    ],
    "constraints": [
      {"require": "precision == 'f32' or 'avx512_bf16' in machine.isa", "because": "bf16 would be emulated"}
    ]
  },
  "strategy": {"name": "random", "seed": 7},
  "budget": {"trials": 40, "wall": "1h30min", "until": "07:00"},
  "run": {"steps": 50, "repeats": 2, "deadline": "60s", "memory": "8GiB"},
  "verify": {"pairs": 8}
})";

/// `text` with the one place that reads `from` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
inline std::string good_with(const std::string& from, const std::string& to) {
  return with(kGood, from, to);
}

inline std::expected<tuner::CampaignSpec, std::vector<tuner::Problem>> parse(const std::string& text) {
  return tuner::parse_campaign(text, "f.json", "/folder", sample_facts());
}

inline tuner::CampaignSpec good(const std::string& text) {
  auto spec = parse(text);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

inline std::vector<tuner::Problem> problems(const std::string& text) {
  auto spec = parse(text);
  REQUIRE(!spec);
  return spec.error();
}

}  // namespace nocturne::test
