#include "tests/tuner/campaign/equal_configurations.hpp"

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "measure/comparison/noise.hpp"
#include "space/file_contents.hpp"

namespace nocturne::test {
namespace {

NoiseRecord read_record(const std::string& name) {
  const std::string path = NOCTURNE_SOURCE_DIR "/tests/tuner/campaign/" + name;
  const auto text = space::read_file(path);
  if (!text) throw std::runtime_error(path + " cannot be read");
  const nlohmann::json document = nlohmann::json::parse(*text);
  NoiseRecord record{.ratio = document.at("ratio"), .level = document.at("level")};
  record.ratio_sd = measure::noise_of(record.ratio).sd;
  record.level_sd = measure::noise_of(record.level).sd;
  return record;
}

// Of the formula: sd of a process beside its drift, of a pair, of a step of the drift, and what the drift keeps.
constexpr double kProcessSd = 0.05, kPairSd = 0.03, kDriftStep = 0.02, kDriftKept = 0.95;

}  // namespace

const NoiseRecord& native_worker_record() {
  static const NoiseRecord kRead = read_record("equal_configurations.json");
  return kRead;
}

const NoiseRecord& later_native_worker_record() {
  static const NoiseRecord kRead = read_record("equal_configurations_later.json");
  return kRead;
}

const NoiseRecord& scripts_record() {
  static const NoiseRecord kRead = read_record("equal_scripts.json");
  return kRead;
}

double FormulaNoise::alone() {
  return kProcessSd * student_(random_) / std::sqrt(2.0) + drift();
}

double FormulaNoise::pair() {
  return kPairSd * student_(random_) / std::sqrt(2.0);
}

double FormulaNoise::drift() {
  drift_ = kDriftKept * drift_ + kDriftStep * normal_(random_);
  return drift_;
}

double FormulaNoise::process_sd() const {
  return std::hypot(kProcessSd, kDriftStep / std::sqrt(1 - kDriftKept * kDriftKept));
}

double FormulaNoise::pair_sd() const {
  return kPairSd;
}

RecordedNoise::RecordedNoise(std::uint64_t seed, const NoiseRecord& record, double spread)
    : record_(record),
      spread_(spread),
      random_(seed),
      next_process_(random_() % record.level.size()),
      next_pair_(random_() % record.ratio.size()) {}

double RecordedNoise::alone() {
  return spread_ * record_.level[next_process_++ % record_.level.size()];
}

double RecordedNoise::pair() {
  const double measured = record_.ratio[next_pair_++ % record_.ratio.size()];
  return random_() % 2 == 0 ? measured : -measured;
}

}  // namespace nocturne::test
