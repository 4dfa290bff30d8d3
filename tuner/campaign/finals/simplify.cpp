#include "tuner/campaign/finals/simplify.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "tuner/campaign/answer/changes.hpp"

namespace nocturne::tuner {
namespace {

/// `from` with one setting as in the default, and what depends on it filled in or left out. Empty: not allowed.
std::optional<space::Configuration> put_back(const space::Space& space, const space::Configuration& from,
                                             const space::Configuration& baseline, const std::string& name) {
  const space::Value* value = baseline.find(name);
  if (value == nullptr) return std::nullopt;  // it goes when the setting that makes it active is put back
  space::Configuration changed = from;
  changed.set(name, *value);
  changed = space.normalise(changed);
  if (!space.check(changed).empty()) return std::nullopt;
  return changed;
}

}  // namespace

std::vector<space::Configuration> simplify(const space::Space& space, const space::Configuration& winner,
                                           const space::Configuration& baseline, const PredictedLogTime& predicted,
                                           double margin_percent) {
  const double most = predicted(winner) + std::log1p(margin_percent / 100);
  std::vector<space::Configuration> way;
  space::Configuration current = winner;
  for (;;) {
    std::optional<space::Configuration> best;
    double best_time = std::numeric_limits<double>::infinity();
    const auto differing = changes_between(current, baseline);
    for (const Change& change : differing) {
      auto simpler = put_back(space, current, baseline, change.parameter);
      // What fills itself in must not differ from the default in turn: then nothing would be gained.
      if (!simpler || changes_between(*simpler, baseline).size() >= differing.size()) continue;
      const double time = predicted(*simpler);
      if (time <= most && time < best_time) {
        best_time = time;
        best = std::move(simpler);
      }
    }
    if (!best || *best == baseline) return way;
    current = *best;
    way.push_back(*std::move(best));
  }
}

}  // namespace nocturne::tuner
