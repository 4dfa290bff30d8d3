#include "search/model/changes.hpp"

#include <algorithm>

#include "space/random.hpp"

namespace nocturne::search::model {
namespace {

using space::Level;

constexpr std::size_t kAveraged = 32;    // an average over them; each is a pair of rows and a few settles
constexpr std::size_t kFewestAlike = 4;  // fewer pairs that differ by nothing else: those that do are taken, too

std::size_t trials_with(const LinearModel& model, std::size_t parameter, Level level) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < model.size(); ++t) {
    if (model.point(t)[parameter] == level) ++count;
  }
  return count;
}

LevelChange change_of(LinearModel& model, std::size_t parameter, Level level, const space::PointList& from,
                      const space::PointList& to) {
  const auto difference = model.difference(from, to);
  return {.parameter = parameter,
          .level = level,
          .trials = trials_with(model, parameter, level),
          .mean = difference.mean,
          .interval = difference.interval};
}

}  // namespace

std::optional<std::vector<Level>> with_level(space::Lattice& lattice, space::Point point, std::size_t parameter,
                                             Level level, int others) {
  if (point[parameter] == space::kNoLevel) return std::nullopt;
  std::vector<Level> changed(point.begin(), point.end());
  changed[parameter] = level;
  const bool valid = lattice.settle(changed);
  if (changed[parameter] != level) return std::nullopt;
  if (valid) return changed;
  if (others == 0) return std::nullopt;
  for (const bool to_default : {true, false}) {
    for (std::size_t other = 0; other < lattice.width(); ++other) {
      if (other == parameter || changed[other] == space::kNoLevel) continue;
      const auto& axis = lattice.axis(other);
      for (std::size_t each = 0; each < axis.levels; ++each) {
        const auto another = static_cast<Level>(each);
        if (another == changed[other] || (another == axis.default_level) != to_default) continue;
        auto repaired = changed;
        repaired[other] = another;
        if (lattice.settle(repaired) && repaired[parameter] == level) return repaired;
      }
    }
  }
  return std::nullopt;
}

std::vector<LevelChange> changes_from(LinearModel& model, space::Lattice& lattice, space::Point point) {
  std::vector<LevelChange> result;
  space::PointList from(lattice.width());
  from.push_back(point);
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    for (std::size_t each = 0; each < lattice.axis(i).levels; ++each) {
      const auto level = static_cast<Level>(each);
      if (level == point[i] || trials_with(model, i, level) == 0) continue;
      const auto changed = with_level(lattice, point, i, level, /*others=*/1);
      if (!changed) continue;
      space::PointList to(lattice.width());
      to.push_back(*changed);
      result.push_back(change_of(model, i, level, from, to));
    }
  }
  return result;
}

std::vector<LevelChange> average_changes(LinearModel& model, space::Lattice& lattice, std::size_t parameter,
                                         Level reference) {
  std::vector<LevelChange> result;
  for (std::size_t each = 0; each < lattice.axis(parameter).levels; ++each) {
    const auto level = static_cast<Level>(each);
    if (level == reference || trials_with(model, parameter, level) == 0) continue;
    for (const int others : {0, 1}) {
      space::PointList from(lattice.width());
      space::PointList to(lattice.width());
      space::Random random(0);
      std::vector<Level> drawn(lattice.width());
      for (std::size_t draw = 0; draw < 4 * kAveraged && to.size() < kAveraged && lattice.sample(random, drawn);
           ++draw) {
        const auto before = with_level(lattice, drawn, parameter, reference, others);
        const auto after = before ? with_level(lattice, *before, parameter, level, others) : std::nullopt;
        if (!after) continue;
        from.push_back(*before);
        to.push_back(*after);
      }
      if (to.empty() || (others == 0 && to.size() < kFewestAlike)) continue;
      result.push_back(change_of(model, parameter, level, from, to));
      break;
    }
  }
  return result;
}

}  // namespace nocturne::search::model
