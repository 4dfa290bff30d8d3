#include "tests/tuner/campaign/equal_configurations.hpp"

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "space/file_contents.hpp"

namespace nocturne::test {
namespace {

constexpr const char* kRecord = NOCTURNE_SOURCE_DIR "/tests/tuner/campaign/equal_configurations.json";

struct Record {
  std::vector<double> ratio, level;
};

const Record& record() {
  static const Record kRead = [] {
    const auto text = space::read_file(kRecord);
    if (!text) throw std::runtime_error(std::string(kRecord) + " cannot be read");
    const nlohmann::json document = nlohmann::json::parse(*text);
    return Record{.ratio = document.at("ratio"), .level = document.at("level")};
  }();
  return kRead;
}

}  // namespace

double FormulaNoise::alone() {
  return 0.05 * student_(random_) / std::sqrt(2.0) + drift();
}

double FormulaNoise::pair() {
  return 0.03 * student_(random_) / std::sqrt(2.0);
}

double FormulaNoise::drift() {
  drift_ = 0.95 * drift_ + 0.02 * normal_(random_);
  return drift_;
}

RecordedNoise::RecordedNoise(std::uint64_t seed)
    : random_(seed), next_process_(random_() % record().level.size()), next_pair_(random_() % record().ratio.size()) {}

double RecordedNoise::alone() {
  const std::vector<double>& level = record().level;
  return level[next_process_++ % level.size()];
}

double RecordedNoise::pair() {
  const std::vector<double>& ratio = record().ratio;
  const double measured = ratio[next_pair_++ % ratio.size()];
  return random_() % 2 == 0 ? measured : -measured;
}

}  // namespace nocturne::test
