#include "search/transfer/shared_effects.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "search/model/level_kernel.hpp"
#include "search/transfer/evidence.hpp"
#include "search/transfer/gain_distribution.hpp"

namespace nocturne::search::transfer {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNeverBent = 1e6;  // log units

// Not in a namespace without a name: State, which has one, has members of these types.

/// What one machine measured with one network.
struct Group {
  Place place;
  std::vector<std::size_t> members{};
  model::Target target{.knee = kNeverBent};  // bends log times, and does nothing else
  double spread = 0;                         // standard deviation of the bent ones
};

/// Mean and variance of each of some points' values, and of the reference's less theirs. Without the rest, model units.
struct Moments {
  VectorXd means, explained;
  VectorXd gains{}, gains_explained;
};

/// The same for one value of what carries over.
struct Setting {
  double log_density = 0;
  double probability = 1;
  Moments moments{};
};

/// A place that is asked about.
struct Asked {
  Place place{};
  std::optional<std::size_t> group{};  // its own; none: nothing was measured there
  double amplitude = 1;
  std::vector<double> carried{1};  // c: values of what carries over, against what the scales say
  Stretch stretch{};
};

namespace {

constexpr double kKnee = 0.75;             // quantile of a group's times above which they are bent
constexpr std::size_t kFewestToBend = 20;  // of fewer, nobody knows what is usual
constexpr double kBelief = 3;              // degrees of freedom of the beliefs about amplitudes and shares
constexpr int kFactors = 9;                // values of the amplitude that are integrated over
constexpr int kShares = 5;                 // and of what carries over
constexpr double kLeastSpread = 1e-9;
constexpr double kLeastSd = 1e-9;  // of the reference against itself

std::vector<Group> groups_of(const std::vector<Measurement>& measurements) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const auto known = std::ranges::find(groups, measurements[i].place, &Group::place);
    Group& group = known != groups.end() ? *known : groups.emplace_back(Group{.place = measurements[i].place});
    group.members.push_back(i);
  }
  return groups;
}

/// Log times, bent above the knee of their group; notes knee and spread of each.
VectorXd bent(std::vector<Group>& groups, const std::vector<Measurement>& measurements) {
  VectorXd values(static_cast<Eigen::Index>(measurements.size()));
  for (Group& group : groups) {
    std::vector<double> logs;
    for (const std::size_t each : group.members) logs.push_back(measurements[each].log_time);
    std::ranges::sort(logs);
    if (logs.size() >= kFewestToBend) {
      const model::Target fitted = model::Target::fit(logs, kKnee);
      group.target = {.knee = fitted.knee, .softness = fitted.softness};
    }
    double mean = 0, squares = 0;
    const auto count = static_cast<double>(logs.size());
    for (const std::size_t each : group.members) {
      const auto row = static_cast<Eigen::Index>(each);
      values(row) = group.target.to_model(measurements[each].log_time);
      mean += values(row) / count;
    }
    for (const std::size_t each : group.members) squares += std::pow(values(static_cast<Eigen::Index>(each)) - mean, 2);
    group.spread = logs.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  }
  return values;
}

/// The geometric mean of the spreads, by how well they are known; 1 where there is none.
double unit_of(const std::vector<Group>& groups) {
  double sum = 0, weights = 0;
  for (const Group& group : groups) {
    if (group.spread <= kLeastSpread) continue;
    const auto weight = static_cast<double>(group.members.size() - 1);
    sum += weight * std::log(group.spread);
    weights += weight;
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}

double root(double variance) {
  return std::sqrt(std::max(variance, kLeastSd * kLeastSd));
}

}  // namespace

struct SharedEffects::State {
  model::LevelKernels kernels;
  std::vector<Measurement> measurements;
  std::vector<Group> groups;
  std::vector<std::size_t> group_of;  // by measurement
  double centre = 0, unit = 1;
  VectorXd values;  // in units, centred
  Scales scales;
  Eigen::LLT<MatrixXd> factor;
  VectorXd alpha;

  State(const space::Lattice& lattice, std::vector<Measurement> all)
      : kernels(lattice), measurements(std::move(all)), groups(groups_of(measurements)), group_of(measurements.size()) {
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const std::size_t each : groups[g].members) group_of[each] = g;
    values = bent(groups, measurements);
    centre = values.mean();
    unit = unit_of(groups);
    values = (values.array() - centre) / unit;
    scales = likeliest_scales(values, pairings());
    factor.compute(covariances({}, 1));
    alpha = factor.solve(values);
  }

  [[nodiscard]] Eigen::Index size() const { return values.size(); }
  [[nodiscard]] std::size_t parameters() const { return kernels.parameters(); }
  [[nodiscard]] const Measurement& measured(Eigen::Index i) const { return measurements[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::size_t group(Eigen::Index i) const { return group_of[static_cast<std::size_t>(i)]; }

  [[nodiscard]] Pairings pairings() const;
  [[nodiscard]] MatrixXd covariances(std::optional<std::size_t> own, double carried) const;
  [[nodiscard]] double effects(space::Point a, space::Point b) const;
  [[nodiscard]] std::vector<std::size_t> groups_like(const Asked& asked) const;
  void guess_amplitude(Asked& asked, const std::vector<std::size_t>& like) const;
  void guess_carried(Asked& asked) const;
  [[nodiscard]] Asked ask(const Place& place, space::Point reference) const;
  [[nodiscard]] std::vector<Setting> settings(const Asked& asked, const space::PointList& points) const;
  [[nodiscard]] double mean_at(std::size_t group, space::Point point) const;
  [[nodiscard]] model::Target bend_of(const std::vector<std::size_t>& like, space::Point reference) const;
  [[nodiscard]] MatrixXd columns(const Asked& asked, double carried, const space::PointList& points) const;
  [[nodiscard]] Moments moments(const Eigen::LLT<MatrixXd>& of, const VectorXd& weights, const MatrixXd& columns) const;

 private:
  [[nodiscard]] std::size_t level_at(std::size_t parameter, space::Level level) const {
    return kernels.row(parameter, level) - kernels.first_row(parameter);
  }
};

/// Weighted effects of two points: E + b2/2 (E² - S) + b3 P + b4 [a = b].
double SharedEffects::State::effects(space::Point a, space::Point b) const {
  double sum = 0, squares = 0, closeness = 1;
  for (std::size_t i = 0; i < parameters(); ++i) {
    const std::size_t of_a = level_at(i, a[i]), of_b = level_at(i, b[i]);
    const double each = scales.weights[i] * static_cast<double>(kernels.covariance(i, of_a, of_b));
    sum += each;
    squares += each * each;
    closeness *= static_cast<double>(kernels.closeness(i, of_a, of_b));
  }
  return sum + scales[Scale::Pairs] / 2 * (sum * sum - squares) + scales[Scale::Local] * closeness +
         (std::ranges::equal(a, b) ? scales[Scale::Itself] : 0);
}

Pairings SharedEffects::State::pairings() const {
  Pairings pairings{.similarities = std::vector<MatrixXd>(parameters(), MatrixXd(size(), size())),
                    .closeness = MatrixXd::Ones(size(), size()),
                    .itself = MatrixXd(size(), size()),
                    .machine = MatrixXd(size(), size()),
                    .network = MatrixXd(size(), size()),
                    .both = {},
                    .groups = group_of};
  for (Eigen::Index i = 0; i < size(); ++i) {
    for (Eigen::Index j = 0; j < size(); ++j) {
      const Measurement &a = measured(i), &b = measured(j);
      pairings.machine(i, j) = a.place.machine == b.place.machine ? 1 : 0;
      pairings.network(i, j) = a.place.network == b.place.network ? 1 : 0;
      pairings.itself(i, j) = a.point == b.point ? 1 : 0;
      for (std::size_t p = 0; p < parameters(); ++p) {
        const std::size_t of_a = level_at(p, a.point[p]), of_b = level_at(p, b.point[p]);
        pairings.similarities[p](i, j) = static_cast<double>(kernels.covariance(p, of_a, of_b));
        pairings.closeness(i, j) *= static_cast<double>(kernels.closeness(p, of_a, of_b));
      }
    }
  }
  pairings.both = pairings.machine.cwiseProduct(pairings.network);
  for (const Group& group : groups) pairings.spreads.push_back(group.spread > kLeastSpread ? group.spread / unit : 1);
  return pairings;
}

/// K; between the own group and others, effects times `carried`.
MatrixXd SharedEffects::State::covariances(std::optional<std::size_t> own, double carried) const {
  MatrixXd matrix(size(), size());
  for (Eigen::Index i = 0; i < size(); ++i) {
    const Measurement& a = measured(i);
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Measurement& b = measured(j);
      const bool machine = a.place.machine == b.place.machine, network = a.place.network == b.place.network;
      const bool across = own && (group(i) == *own) != (group(j) == *own);
      const double amplitudes = scales.amplitudes[group(i)] * scales.amplitudes[group(j)];
      matrix(i, j) = matrix(j, i) = scales.level(machine, network) + amplitudes * scales.shared(machine, network) *
                                                                         (across ? carried : 1) *
                                                                         effects(a.point, b.point);
    }
    matrix(i, i) += std::pow(scales.amplitudes[group(i)], 2) * scales[Scale::Rest];
  }
  return matrix;
}

/// Of each point at that place with each measurement: n × points.
MatrixXd SharedEffects::State::columns(const Asked& asked, double carried, const space::PointList& points) const {
  MatrixXd all(size(), static_cast<Eigen::Index>(points.size()));
  for (Eigen::Index i = 0; i < size(); ++i) {
    const Measurement& each = measured(i);
    const bool machine = each.place.machine == asked.place.machine, network = each.place.network == asked.place.network;
    const double level = scales.level(machine, network);
    const double shared = scales.shared(machine, network) * asked.amplitude * scales.amplitudes[group(i)] *
                          (asked.group == group(i) ? 1 : carried);
    for (std::size_t p = 0; p < points.size(); ++p)
      all(i, static_cast<Eigen::Index>(p)) = level + shared * effects(points[p], each.point);
  }
  return all;
}

/// The last column is the reference's.
Moments SharedEffects::State::moments(const Eigen::LLT<MatrixXd>& of, const VectorXd& weights,
                                      const MatrixXd& columns) const {
  const MatrixXd known = of.matrixL().solve(columns);
  const auto reference = known.cols() - 1;
  Moments moments{.means = columns.transpose() * weights,
                  .explained = known.colwise().squaredNorm().transpose(),
                  .gains_explained = (known.colwise() - known.col(reference)).colwise().squaredNorm().transpose()};
  moments.gains = moments.means(reference) - moments.means.array();
  return moments;
}

double SharedEffects::State::mean_at(std::size_t group, space::Point point) const {
  space::PointList one(parameters());
  one.push_back(point);
  const Asked asked{.place = groups[group].place, .group = group, .amplitude = scales.amplitudes[group]};
  return columns(asked, 1, one).col(0).dot(alpha);
}

/// Where times bend, against the reference's in units of the amplitude: as in these groups, on average.
model::Target SharedEffects::State::bend_of(const std::vector<std::size_t>& like, space::Point reference) const {
  double knees = 0, softness = 0, count = 0;
  for (const std::size_t g : like) {
    if (groups[g].target.knee == kNeverBent) continue;
    const double amplitude = unit * scales.amplitudes[g];
    knees += (groups[g].target.knee - centre - unit * mean_at(g, reference)) / amplitude;
    softness += groups[g].target.softness / amplitude;
    ++count;
  }
  if (count == 0) return {.knee = kNeverBent};
  return {.knee = knees / count, .softness = softness / count};
}

/// The groups that resemble a place most: itself; else those of its machine or its network; else all.
std::vector<std::size_t> SharedEffects::State::groups_like(const Asked& asked) const {
  if (asked.group) return {*asked.group};
  std::vector<std::size_t> like, all;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Place& other = groups[g].place;
    if (other.machine == asked.place.machine || other.network == asked.place.network) like.push_back(g);
    all.push_back(g);
  }
  return like.empty() ? all : like;
}

/// How much anything matters there: known by its own trials, or a draw like those of the groups that resemble it.
void SharedEffects::State::guess_amplitude(Asked& asked, const std::vector<std::size_t>& like) const {
  const auto count = static_cast<double>(like.size());
  double mean = 0, squares = kBelief * kAmplitudeSd * kAmplitudeSd;
  for (const std::size_t g : like) mean += std::log(scales.amplitudes[g]) / count;
  for (const std::size_t g : like) squares += std::pow(std::log(scales.amplitudes[g]) - mean, 2);
  asked.amplitude = std::exp(mean);
  double degrees = kBelief + count - 1, sd = std::sqrt(squares / degrees * (1 + 1 / count));
  if (asked.group) {
    // Some trials know their standard deviation to within one over the root of twice their number.
    const auto trials = static_cast<double>(groups[*asked.group].members.size());
    sd = 1 / std::sqrt(2 * trials + 1 / (kAmplitudeSd * kAmplitudeSd));
    degrees = kBelief + trials;
  }
  asked.stretch.factors = likely_factors(sd, degrees, kFactors);
}

/// What carries over from the other groups, against what the scales say: as uncertain as a priori where one other
/// machine is known, and by half of that variance where many are.
void SharedEffects::State::guess_carried(Asked& asked) const {
  bool machine = false, network = false;
  std::set<std::string> machines;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (asked.group == g) continue;
    const Place& other = groups[g].place;
    machine |= other.machine == asked.place.machine;
    network |= other.network == asked.place.network;
    machines.insert(other.machine);
  }
  if (machines.empty()) return;  // nothing could carry over
  const auto count = static_cast<double>(machines.size());
  const double all = 1 / scales.shared(false, false);  // 1 + r_m + r_n + r_g
  const double shared = 1 + (machine ? scales[Scale::OfMachine] : 0) + (network ? scales[Scale::OfNetwork] : 0);
  asked.carried.clear();
  for (const double own : likely_factors(kOwnSd * std::sqrt((1 + 1 / count) / 2), kBelief + count - 1, kShares))
    asked.carried.push_back(std::sqrt(all / (shared + own * (all - shared))));
}

Asked SharedEffects::State::ask(const Place& place, space::Point reference) const {
  Asked asked{.place = place};
  const auto own = std::ranges::find(groups, place, &Group::place);
  if (own != groups.end()) asked.group = static_cast<std::size_t>(own - groups.begin());
  const auto like = groups_like(asked);
  asked.stretch = {.factors = {}, .of_spread = asked.group.has_value(), .bend = bend_of(like, reference)};
  guess_amplitude(asked, like);
  guess_carried(asked);
  return asked;
}

SharedEffects::SharedEffects(const space::Lattice& lattice, std::vector<Measurement> measurements)
    : state_(std::make_unique<State>(lattice, std::move(measurements))) {}

SharedEffects::~SharedEffects() = default;
SharedEffects::SharedEffects(SharedEffects&&) noexcept = default;
SharedEffects& SharedEffects::operator=(SharedEffects&&) noexcept = default;

/// What is expected for each value of what carries over, as likely as the place's own trials find it.
std::vector<Setting> SharedEffects::State::settings(const Asked& asked, const space::PointList& points) const {
  std::vector<Setting> settings;
  double most = -HUGE_VAL, sum = 0;
  for (const double carried : asked.carried) {
    if (!asked.group) {  // then it scales what is known, and no measurement says anything of it
      Moments scaled = settings.empty() ? moments(factor, alpha, columns(asked, 1, points)) : settings.front().moments;
      const double against = settings.empty() ? carried : carried / asked.carried.front();
      scaled.gains *= against;
      scaled.gains_explained *= against * against;
      settings.push_back({.log_density = 0, .moments = std::move(scaled)});
    } else {
      const Eigen::LLT<MatrixXd> refactored(covariances(asked.group, carried));
      const VectorXd weights = refactored.solve(values);
      const VectorXd diagonal = refactored.matrixLLT().diagonal();
      settings.push_back({.log_density = -values.dot(weights) / 2 - diagonal.array().log().sum(),
                          .moments = moments(refactored, weights, columns(asked, carried, points))});
    }
    most = std::max(most, settings.back().log_density);
  }
  for (Setting& each : settings) sum += each.probability = std::exp(each.log_density - most);
  for (Setting& each : settings) each.probability /= sum;
  return settings;
}

std::vector<Expectation> SharedEffects::expect(const Place& place, const space::PointList& points,
                                               space::Point reference) const {
  const State& state = *state_;
  const Asked asked = state.ask(place, reference);
  space::PointList all = points;
  all.push_back(reference);
  const auto settings = state.settings(asked, all);
  const auto last = static_cast<Eigen::Index>(points.size());
  const double squared = asked.amplitude * asked.amplitude, rest = state.scales[Scale::Rest];
  const double of_reference = state.effects(reference, reference), level = state.scales.level(true, true);
  std::vector<Expectation> expected;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto column = static_cast<Eigen::Index>(i);
    const double own = state.effects(points[i], points[i]);
    const bool itself = std::ranges::equal(points[i], reference);
    const double prior = itself ? 0 : own + of_reference - 2 * state.effects(points[i], reference) + 2 * rest;
    std::vector<GainDistribution::Component> components;
    double mean = 0, mean_of_reference = 0, variance = 0;
    for (const Setting& each : settings) {
      components.push_back({.probability = each.probability,
                            .mean = each.moments.gains(column) / asked.amplitude,
                            .sd = root(prior - each.moments.gains_explained(column) / squared)});
      mean += each.probability * each.moments.means(column);
      mean_of_reference += each.probability * each.moments.means(last);
      variance += each.probability * (level + squared * (own + rest) - each.moments.explained(column));
    }
    const GainDistribution gain(asked.stretch, std::move(components));
    const double amplitude = state.unit * asked.amplitude;
    const double straight = asked.stretch.bend.to_log((mean - mean_of_reference) / asked.amplitude);
    expected.push_back({.log_time = state.centre + state.unit * mean_of_reference + amplitude * straight,
                        .log_time_sd = state.unit * root(variance),
                        .log_gain = amplitude * gain.quantile(0.5),
                        .gain_90 = {.lower = amplitude * gain.quantile(0.05), .upper = amplitude * gain.quantile(0.95)},
                        .expected_gain = amplitude * gain.mean()});
  }
  return expected;
}

double SharedEffects::noise_sd() const {
  return state_->unit * std::sqrt(state_->scales[Scale::Rest]);
}

double SharedEffects::own_share_of_machine() const {
  return 1 - state_->scales.shared(false, true);
}

}  // namespace nocturne::search::transfer
