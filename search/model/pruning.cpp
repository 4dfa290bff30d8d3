#include "search/model/pruning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "space/word_list.hpp"

namespace nocturne::search::model {
namespace {

// A level is judged by its most hopeful configuration: so many points are looked at before the way downhill begins.
constexpr std::size_t kGoodStarts = 8;
constexpr int kRandomStarts = 48;
constexpr int kSteps = 4;
// Walking through the levels of an integer range with hundreds of values is not what stages of minutes look like.
constexpr std::size_t kMostLevels = 64;

}  // namespace

Pruning::Pruning(Forecast& forecast, std::vector<double> log_best, double widening)
    : forecast_(forecast), log_best_(std::move(log_best)), widening_(widening), prediction_(forecast.horizons()) {}

double Pruning::margin(space::Point point) {
  return least(point, &HorizonPrediction::log_extreme);
}

/// How much slower than the incumbent that end is, at the horizon where it comes nearest.
double Pruning::least(space::Point point, double HorizonPrediction::* end) {
  forecast_.predict_horizons(point, widening_, prediction_);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < prediction_.size(); ++i) least = std::min(least, prediction_[i].*end - log_best_[i]);
  return least;
}

std::vector<PrunedLevel> Pruning::levels(space::Lattice& lattice, const space::PointList& starts,
                                         space::Random& random) {
  std::vector<PrunedLevel> found;
  for (std::size_t parameter = 0; parameter < lattice.width(); ++parameter) {
    const auto stage = lattice.parameter(parameter).stage;
    const auto& axis = lattice.axis(parameter);
    if (stage != space::Stage::Environment && stage != space::Stage::Build) continue;
    if (axis.levels < 2 || axis.levels > kMostLevels) continue;
    const auto levels = static_cast<space::Level>(axis.levels);
    for (space::Level level = 0; level < levels; ++level) {
      if (!starts.empty() && starts[0][parameter] == level) continue;
      const auto margin = most_hopeful(lattice, starts, random, parameter, level);
      if (margin && *margin > 0) found.push_back({parameter, level, *margin});
    }
  }
  return found;
}

/// The least margin that was found with this level; empty: no valid configuration was. Stops early below 0.
std::optional<double> Pruning::most_hopeful(space::Lattice& lattice, const space::PointList& starts,
                                            space::Random& random, std::size_t parameter, space::Level level) {
  std::vector<space::Level> point(lattice.width());
  std::vector<space::Level> best;
  double least_margin = std::numeric_limits<double>::infinity();
  const auto look = [&](space::Point candidate) {
    const double value = least(candidate, &HorizonPrediction::log_optimistic);
    if (value >= least_margin) return;
    least_margin = value;
    best.assign(candidate.begin(), candidate.end());
  };
  const auto move_here = [&] {
    point[parameter] = level;
    if (lattice.settle(point) && point[parameter] == level) look(point);
  };
  for (std::size_t i = 0; i < std::min(starts.size(), kGoodStarts); ++i) {
    std::ranges::copy(starts[i], point.begin());
    move_here();
  }
  for (int i = 0; i < kRandomStarts && least_margin > 0; ++i)
    if (lattice.sample(random, point)) move_here();
  space::PointList near(lattice.width());
  for (int step = 0; step < kSteps && !best.empty() && least_margin > 0; ++step) {
    near.clear();
    lattice.neighbours(best, near);
    const double before = least_margin;
    for (std::size_t i = 0; i < near.size(); ++i)
      if (near[i][parameter] == level) look(near[i]);
    if (!(least_margin < before)) break;
  }
  if (best.empty()) return std::nullopt;
  return least_margin;
}

std::string epochs_text(std::span<const double> horizons) {
  std::vector<std::string> words;
  for (const double each : horizons) words.push_back(fmt::format("{:g}", each));
  return space::word_list(words) + (horizons.size() == 1 && horizons[0] == 1 ? " epoch" : " epochs");
}

std::string to_text(const PrunedLevel& level, const space::Lattice& lattice, std::span<const double> horizons) {
  const double slower = 100 * std::expm1(level.margin);
  return fmt::format("{}={} pruned: at best {:.{}f} % slower (5 % optimistic bound) than the incumbent{}",
                     lattice.parameter(level.parameter).name,
                     space::to_text(lattice.axis(level.parameter).values[level.level]), slower, slower < 10 ? 1 : 0,
                     horizons.empty() ? "" : " at " + epochs_text(horizons));
}

}  // namespace nocturne::search::model
