#include "tuner/campaign/simplify.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

namespace nocturne::tuner {
namespace {

std::set<std::string> names_that_differ(const space::Configuration& a, const space::Configuration& b) {
  std::set<std::string> names;
  for (const auto& [name, value] : a.values()) {
    const space::Value* other = b.find(name);
    if (other == nullptr || *other != value) names.insert(name);
  }
  for (const auto& [name, value] : b.values()) {
    if (a.find(name) == nullptr) names.insert(name);
  }
  return names;
}

/// `from` with one setting as in the default, and what depends on it filled in or left out. Empty: not allowed.
std::optional<space::Configuration> put_back(const space::Space& space, const space::Configuration& from,
                                             const space::Configuration& baseline, const std::string& name) {
  space::Configuration changed = from;
  if (const space::Value* value = baseline.find(name)) {
    changed.set(name, *value);
  } else {
    return std::nullopt;  // it goes when the setting that makes it active is put back
  }
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
    const auto differing = names_that_differ(current, baseline);
    for (const std::string& name : differing) {
      auto simpler = put_back(space, current, baseline, name);
      // What fills itself in must not differ from the default in turn: then nothing would be gained.
      if (!simpler || names_that_differ(*simpler, baseline).size() >= differing.size()) continue;
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
