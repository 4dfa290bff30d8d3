#include "kernels/machine/plausibility.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace nocturne::machine {
namespace {

constexpr double kSharedGain = 0.9;   // sharing may cost a little
constexpr double kLeastOfTwo = 1.3;   // two cores never come down to this by lower clocks
constexpr double kLeastOfEach = 0.4;  // nor many to this, each
constexpr double kFairShare = 1.25;   // one thread has the higher clock, if anybody has

bool is_rate(const Measurement& figure) {
  return figure.absent.empty() && figure.unit != "ns" && figure.node < 0 && figure.rate.maximum > 0;
}

template <typename... Values>
std::string clause(const char* format, Values... values) {
  std::array<char, 200> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

Measurement better_of(const Measurement& first, const Measurement& second) {
  Measurement best = is_rate(second) && second.rate.maximum > first.rate.maximum ? second : first;
  best.right = first.right && second.right;
  best.tries = first.tries + second.tries;
  best.doubt.clear();
  return best;
}

}  // namespace

double least_gain(int units) {
  return units < 2 ? kSharedGain : std::max(kLeastOfTwo, kLeastOfEach * units);
}

std::vector<Doubt> doubts_about(const std::vector<Measurement>& figures, const UnitsOf& units_of) {
  std::vector<Doubt> doubts;
  for (std::size_t several = 0; several < figures.size(); ++several) {
    const Measurement& all = figures[several];
    if (all.threads < 2 || !is_rate(all)) continue;
    const auto found = std::ranges::find_if(figures, [&](const Measurement& other) {
      return other.threads == 1 && other.name == all.name && is_rate(other);
    });
    if (found == figures.end()) continue;
    const double gain = all.rate.maximum / found->rate.maximum;
    const double least = least_gain(units_of(all));
    if (gain < least) {
      doubts.push_back({several, clause("%d threads reached %.2f times what one did, at least %.2f times is expected",
                                        all.threads, gain, least)});
    } else if (gain > kFairShare * all.threads) {
      doubts.push_back({static_cast<std::size_t>(found - figures.begin()),
                        clause("one thread reached %.2f of what each of %d did, at least %.2f is expected",
                               all.threads / gain, all.threads, 1 / kFairShare)});
    }
  }
  return doubts;
}

void measure_doubted_again(std::vector<Measurement>& figures, const UnitsOf& units_of,
                           const std::function<Measurement(std::size_t)>& again) {
  std::vector<Doubt> doubts = doubts_about(figures, units_of);
  for (int tries = 1; tries < kMostTries && !doubts.empty(); ++tries) {
    for (const Doubt& doubt : doubts) figures[doubt.figure] = better_of(figures[doubt.figure], again(doubt.figure));
    doubts = doubts_about(figures, units_of);
  }
  for (Doubt& doubt : doubts) figures[doubt.figure].doubt = std::move(doubt.because);
}

}  // namespace nocturne::machine
