#include "search/model/changes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "search/model/student.hpp"
#include "space/random.hpp"

namespace nocturne::search::model {
namespace {

using space::Level;

constexpr std::size_t kAveraged = 32;  // an average over them; each is a pair of rows and a few settles
constexpr double kMostDegrees = 30;
constexpr double kOwnDegrees = 8;        // as predictions have
constexpr std::size_t kFewestAlike = 4;  // fewer pairs that differ by nothing else: those that do are taken, too

std::size_t trials_with(const LinearModel& model, std::size_t parameter, Level level) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < model.size(); ++t)
    if (model.point(t)[parameter] == level) ++count;
  return count;
}

/// Which levels of a parameter are to be compared with this one, and how many trials had each.
std::vector<std::pair<Level, std::size_t>> tried_beside(const LinearModel& model, const space::Lattice& lattice,
                                                        std::size_t parameter, Level reference) {
  std::vector<std::pair<Level, std::size_t>> result;
  for (std::size_t each = 0; each < lattice.axis(parameter).levels; ++each) {
    const auto level = static_cast<Level>(each);
    if (level == reference) continue;
    if (const std::size_t trials = trials_with(model, parameter, level); trials > 0) result.emplace_back(level, trials);
  }
  return result;
}

/// Points that differ in one parameter, one by one.
struct Pairs {
  explicit Pairs(std::size_t width) : from(width), to(width) {}
  space::PointList from, to;
};

Pairs pairs_between(space::Lattice& lattice, const space::PointList& drawn, std::size_t parameter, Level reference,
                    Level level, int others) {
  Pairs pairs(lattice.width());
  for (std::size_t i = 0; i < drawn.size() && pairs.to.size() < kAveraged; ++i) {
    const auto before = with_level(lattice, drawn[i], parameter, reference, others);
    const auto after = before ? with_level(lattice, *before, parameter, level, others) : std::nullopt;
    if (!after) continue;
    pairs.from.push_back(*before);
    pairs.to.push_back(*after);
  }
  return pairs;
}

/// The same each time.
space::PointList draw(space::Lattice& lattice) {
  space::PointList drawn(lattice.width());
  space::Random random(0);
  std::vector<Level> point(lattice.width());
  while (drawn.size() < 4 * kAveraged && lattice.sample(random, point)) drawn.push_back(point);
  return drawn;
}

/// What two configurations may have to themselves, that is no sum of effects of levels and of pairs. What a trial
/// leaves unexplained is either noise or that, and one run does not say which.
struct Own {
  double shift = 0;  ///< so much is added to the difference, log units, if all that the two leave unexplained is theirs
  double sd = 0;     ///< log units: of what was not measured
};

double square(double x) {
  return x * x;
}

/// A difference, and how far it can be trusted.
struct Spread {
  LinearModel::Difference difference;
  double sd = 0;  ///< log units; no less than processes differ on either side
  double degrees = 1;
  Own own{};

  /// Which the true difference leaves on that side with the probability `missed`.
  [[nodiscard]] double lower(double missed) const {
    return difference.mean - std::sqrt(square(reach(missed)) + square(difference.mean - difference.without_one.lower) +
                                       square(std::max(-own.shift, 0.0)) + square(own_reach(missed)));
  }
  [[nodiscard]] double upper(double missed) const {
    return difference.mean + std::sqrt(square(reach(missed)) + square(difference.without_one.upper - difference.mean) +
                                       square(std::max(own.shift, 0.0)) + square(own_reach(missed)));
  }

 private:
  [[nodiscard]] double reach(double missed) const { return sd * student_quantile(degrees, 1 - missed); }
  /// All trials say how large it is, not those of one level.
  [[nodiscard]] double own_reach(double missed) const { return own.sd * student_quantile(kOwnDegrees, 1 - missed); }
};

/// What the model leaves unexplained of a configuration, log units; empty: it was not measured.
std::optional<double> unexplained(LinearModel& model, space::Point point) {
  const auto trial = model.trial_of(point);
  if (!trial) return std::nullopt;
  return model.log_value(*trial) - model.target().to_log(model.mean(point));
}

Own own_of(LinearModel& model, space::Point from, space::Point to) {
  const auto before = unexplained(model, from), after = unexplained(model, to);
  const double not_measured = (before ? 0.0 : 1.0) + (after ? 0.0 : 1.0);
  return {.shift = after.value_or(0) - before.value_or(0), .sd = model.noise_sd() * std::sqrt(not_measured)};
}

/// `trials`, `beside`: how many had what is changed to, and what is changed from.
Spread spread_of(LinearModel& model, const Pairs& pairs, std::size_t trials, std::size_t beside,
                 const ChangeOptions& options) {
  Spread spread{.difference = model.difference(pairs.from, pairs.to)};
  const double count = static_cast<double>(std::max<std::size_t>(trials, 1));
  const double others = static_cast<double>(std::max<std::size_t>(beside, 1));
  const double process_sd = std::max(model.noise_sd(), options.process_sd);
  // The model pools all trials and may be surer than the processes of either side allow: their spread is the least
  // there is.
  spread.sd = std::max(spread.difference.sd, process_sd * std::sqrt(1 / count + 1 / others));
  spread.degrees = std::min(1 + count, kMostDegrees);
  return spread;
}

/// On each side, of an interval for so many levels together.
double missed_of(const ChangeOptions& options, std::size_t levels) {
  // Bonferroni: the levels of one parameter are read side by side.
  return (1 - options.confidence) / static_cast<double>(std::max<std::size_t>(levels, 1)) / 2;
}

/// `others`: levels that the reference is compared with, together. What configurations have to themselves counts where
/// there is one pair; over many it cancels.
LevelChange change_of(LinearModel& model, std::size_t parameter, Level reference, std::pair<Level, std::size_t> tried,
                      std::size_t others, const Pairs& pairs, const ChangeOptions& options) {
  const auto& [level, trials] = tried;
  Spread spread = spread_of(model, pairs, trials, trials_with(model, parameter, reference), options);
  if (pairs.to.size() == 1) spread.own = own_of(model, pairs.from[0], pairs.to[0]);
  const double missed = missed_of(options, others);
  return {.parameter = parameter,
          .level = level,
          .trials = trials,
          .mean = spread.difference.mean,
          .interval = {.lower = spread.lower(missed), .upper = spread.upper(missed)}};
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
  // First repairs that lead back to a default: they add the least that was not asked about.
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

std::vector<LevelChange> changes_from(LinearModel& model, space::Lattice& lattice, space::Point point,
                                      const ChangeOptions& options) {
  std::vector<LevelChange> result;
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    const auto tried = tried_beside(model, lattice, i, point[i]);
    for (const auto& each : tried) {
      const auto changed = with_level(lattice, point, i, each.first, /*others=*/1);
      if (!changed) continue;
      Pairs pair(lattice.width());
      pair.from.push_back(point);
      pair.to.push_back(*changed);
      result.push_back(change_of(model, i, point[i], each, tried.size(), pair, options));
      result.back().changed = *changed;
    }
  }
  return result;
}

std::vector<LevelChange> average_changes(LinearModel& model, space::Lattice& lattice, std::size_t parameter,
                                         Level reference, const ChangeOptions& options) {
  std::vector<LevelChange> result;
  const auto tried = tried_beside(model, lattice, parameter, reference);
  if (tried.empty()) return result;
  const space::PointList drawn = draw(lattice);
  for (const auto& each : tried) {
    auto pairs = pairs_between(lattice, drawn, parameter, reference, each.first, /*others=*/0);
    if (pairs.to.size() < kFewestAlike)
      pairs = pairs_between(lattice, drawn, parameter, reference, each.first, /*others=*/1);
    if (!pairs.to.empty()) result.push_back(change_of(model, parameter, reference, each, tried.size(), pairs, options));
  }
  return result;
}

namespace {

/// Two parameters, a level and a reference of each.
struct Corners {
  std::size_t first = 0, second = 0;
  Level first_reference = 0, second_reference = 0;
  Level first_level = 0, second_level = 0;
};

/// Trials of each of the four combinations.
std::array<std::size_t, 4> trials_of(const LinearModel& model, const Corners& corners) {
  std::array<std::size_t, 4> counts{};
  for (std::size_t t = 0; t < model.size(); ++t) {
    const Level first = model.point(t)[corners.first], second = model.point(t)[corners.second];
    const bool there = first == corners.first_level, beside = second == corners.second_level;
    if ((there || first == corners.first_reference) && (beside || second == corners.second_reference))
      ++counts[(there ? 2U : 0U) + (beside ? 1U : 0U)];
  }
  return counts;
}

/// The mean over these pairs is half the difference of differences.
Pairs pairs_of(space::Lattice& lattice, const space::PointList& drawn, const Corners& corners) {
  Pairs pairs(lattice.width());
  for (std::size_t i = 0; i < drawn.size() && pairs.to.size() < kAveraged; ++i) {
    const auto started = with_level(lattice, drawn[i], corners.first, corners.first_reference, 0);
    const auto base =
        started ? with_level(lattice, *started, corners.second, corners.second_reference, 0) : std::nullopt;
    if (!base || (*base)[corners.first] != corners.first_reference) continue;
    const auto one = with_level(lattice, *base, corners.first, corners.first_level, 0);
    const auto other = with_level(lattice, *base, corners.second, corners.second_level, 0);
    const auto both = one ? with_level(lattice, *one, corners.second, corners.second_level, 0) : std::nullopt;
    if (!both || !other || with_level(lattice, *other, corners.first, corners.first_level, 0) != both) continue;
    pairs.from.push_back(*other);
    pairs.to.push_back(*both);
    pairs.from.push_back(*one);
    pairs.to.push_back(*base);
  }
  return pairs;
}

/// Empty: the space has too few such configurations.
std::optional<Spread> joint_spread(LinearModel& model, space::Lattice& lattice, const space::PointList& drawn,
                                   const Corners& corners, const ChangeOptions& options) {
  const Pairs pairs = pairs_of(lattice, drawn, corners);
  if (pairs.to.size() < kFewestAlike) return std::nullopt;
  Spread spread{.difference = model.difference(pairs.from, pairs.to)};
  LinearModel::Difference& half = spread.difference;
  half = {.mean = 2 * half.mean,
          .sd = 2 * half.sd,
          .without_one = {.lower = 2 * half.without_one.lower, .upper = 2 * half.without_one.upper}};
  const auto counts = trials_of(model, corners);
  const double inverse = std::accumulate(counts.begin(), counts.end(), 0.0, [](double sum, std::size_t count) {
    return sum + 1 / static_cast<double>(count);
  });
  spread.sd = std::max(half.sd, std::max(model.noise_sd(), options.process_sd) * std::sqrt(inverse));
  spread.degrees = std::min(1 + static_cast<double>(std::ranges::min(counts)), kMostDegrees);
  return spread;
}

}  // namespace

std::vector<JointChange> joint_changes(LinearModel& model, space::Lattice& lattice, std::size_t first,
                                       std::size_t second, const ChangeOptions& options) {
  const Level first_reference = lattice.axis(first).default_level,
              second_reference = lattice.axis(second).default_level;
  const space::PointList drawn = draw(lattice);
  std::vector<std::pair<JointChange, Spread>> found;
  for (const auto& one : tried_beside(model, lattice, first, first_reference)) {
    for (const auto& other : tried_beside(model, lattice, second, second_reference)) {
      const Corners corners{.first = first,
                            .second = second,
                            .first_reference = first_reference,
                            .second_reference = second_reference,
                            .first_level = one.first,
                            .second_level = other.first};
      const std::size_t least = std::ranges::min(trials_of(model, corners));
      if (least < kFewestTogether) continue;
      if (auto spread = joint_spread(model, lattice, drawn, corners, options))
        found.emplace_back(JointChange{.first = one.first, .second = other.first, .trials = least}, *spread);
    }
  }
  std::vector<JointChange> result;
  const double missed = missed_of(options, found.size());
  for (auto& [change, spread] : found) {
    change.mean = spread.difference.mean;
    change.interval = {.lower = spread.lower(missed), .upper = spread.upper(missed)};
    result.push_back(change);
  }
  return result;
}

ChangeForecast::ChangeForecast(LinearModel& model, const space::Lattice& lattice, space::Point point,
                               const ChangeOptions& options)
    : model_(model), point_(point), options_(options), evidence_(lattice.width()), others_(lattice.width()) {
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    const auto& axis = lattice.axis(i);
    std::vector<std::size_t> trials(axis.levels);
    for (std::size_t level = 0; level < axis.levels; ++level)
      trials[level] = trials_with(model, i, static_cast<Level>(level));
    const auto tried = std::ranges::count_if(trials, [](std::size_t each) { return each > 0; });
    others_[i] = static_cast<std::size_t>(std::max<std::ptrdiff_t>(tried - 1, 1));
    const bool smooth = axis.ordered && axis.levels > 2;
    for (std::size_t level = 0; level < axis.levels; ++level) {
      Evidence evidence{.trials = trials[level], .tried = smooth || trials[level] > 0};
      if (smooth && level > 0) evidence.trials += trials[level - 1];
      if (smooth && level + 1 < axis.levels) evidence.trials += trials[level + 1];
      evidence_[i].push_back(evidence);
    }
  }
}

void ChangeForecast::predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) {
  std::size_t trials = model_.size(), beside = model_.size(), others = 1;
  bool tried = true;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (point[i] == point_[i] || point[i] == space::kNoLevel) continue;
    const Evidence& evidence = evidence_[i][point[i]];
    tried = tried && evidence.tried;
    // A chain of changes is as sure as its least tried link.
    trials = std::min(trials, evidence.trials);
    if (point_[i] == space::kNoLevel) continue;
    beside = std::min(beside, evidence_[i][point_[i]].trials);
    others = std::max(others, others_[i]);
  }
  Pairs pair(point.size());
  pair.from.push_back(point_);
  pair.to.push_back(point);
  Spread spread = spread_of(model_, pair, trials, beside, options_);
  spread.sd *= widening;
  const double missed = missed_of(options_, others);
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  result[0] = {.log_mean = spread.difference.mean,
               .log_optimistic = tried ? spread.lower(missed) : -kUnknown,
               .log_pessimistic = tried ? spread.upper(missed) : kUnknown,
               .log_extreme = tried ? spread.lower(kExtreme) : -kUnknown};
}

}  // namespace nocturne::search::model
