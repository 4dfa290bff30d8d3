#include "search/transfer/shared_effects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <nlopt.hpp>

#include "search/model/level_kernel.hpp"
#include "search/model/prediction.hpp"

namespace nocturne::search::transfer {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// The scales beside one weight a parameter, in the order in which the optimiser sees them.
enum Scale : std::size_t {
  kPairs,
  kOfMachine,
  kOfNetwork,
  kOfGroup,
  kMachineLevel,
  kNetworkLevel,
  kGroupLevel,
  kNoise,
  kScales
};

struct LogNormal {
  double median = 1, sd = 1;  // sd of the logarithm
};
// In units of the pooled standard deviation within groups. Of the weights the median is 1 / parameters: together they
// explain what there is. A machine or a workload has as much of its own as all have in common, unless several were
// measured and say otherwise: one alone cannot.
constexpr LogNormal kWeight{.median = 1, .sd = 1.5};
constexpr std::array<LogNormal, kScales> kPriors = {{{.median = 0.1, .sd = 1.5},
                                                     {.median = 1, .sd = 1.2},
                                                     {.median = 1, .sd = 1.2},
                                                     {.median = 0.1, .sd = 1.2},
                                                     {.median = 1, .sd = 2},
                                                     {.median = 4, .sd = 2},
                                                     {.median = 0.1, .sd = 2},
                                                     {.median = 0.02, .sd = 1.5}}};
constexpr double kCommonLevel = 100;  // variance of what all times have in common: as good as not known
constexpr double kKnee = 0.75;        // quantile of a group's times above which they are bent
constexpr double kFarthest = 6;       // log units that a scale may lie from its prior's median
constexpr double kLeastNoise = 1e-6;  // keeps K positive definite where trials were measured twice
constexpr int kEvaluations = 60;

/// Log times of each group, bent above the group's knee.
VectorXd bent(const std::vector<Measurement>& measurements) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < measurements.size(); ++i)
    groups[{measurements[i].place.machine, measurements[i].place.network}].push_back(i);
  VectorXd values(static_cast<Eigen::Index>(measurements.size()));
  for (const auto& [place, members] : groups) {
    std::vector<double> logs;
    for (const std::size_t each : members) logs.push_back(measurements[each].log_time);
    std::ranges::sort(logs);
    model::Target target = model::Target::fit(logs, kKnee);
    target.centre = 0;
    target.scale = 1;
    for (const std::size_t each : members)
      values(static_cast<Eigen::Index>(each)) = target.to_model(measurements[each].log_time);
  }
  return values;
}

/// Standard deviation about the means of the groups; 1 where there is none.
double pooled_sd(const VectorXd& values, const std::vector<Measurement>& measurements) {
  std::map<std::pair<std::string, std::string>, std::pair<double, int>> sums;
  const auto group = [&](Eigen::Index i) -> auto& {
    const Place& place = measurements[static_cast<std::size_t>(i)].place;
    return sums[{place.machine, place.network}];
  };
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    group(i).first += values(i);
    ++group(i).second;
  }
  double squares = 0;
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    const auto& [sum, count] = group(i);
    squares += std::pow(values(i) - sum / count, 2);
  }
  const auto freedom = values.size() - static_cast<Eigen::Index>(sums.size());
  const double sd = freedom > 0 ? std::sqrt(squares / static_cast<double>(freedom)) : 0;
  return sd > 1e-9 ? sd : 1;
}

}  // namespace

struct SharedEffects::State {
  model::LevelKernels kernels;
  std::vector<Measurement> measurements;
  double centre = 0, unit = 1;
  VectorXd values;              // in units, centred
  std::vector<double> weights;  // of the parameters
  std::array<double, kScales> scales{};
  Eigen::LLT<MatrixXd> factor;
  VectorXd alpha;

  State(const space::Lattice& lattice, std::vector<Measurement> all) : kernels(lattice), measurements(std::move(all)) {
    values = bent(measurements);
    centre = values.mean();
    unit = pooled_sd(values, measurements);
    values = (values.array() - centre) / unit;
  }

  [[nodiscard]] Eigen::Index size() const { return values.size(); }
  [[nodiscard]] std::size_t parameters() const { return kernels.parameters(); }

  [[nodiscard]] double similarity(std::size_t parameter, space::Point a, space::Point b) const {
    const std::size_t first = kernels.first_row(parameter);
    return kernels.covariance(parameter, kernels.row(parameter, a[parameter]) - first,
                              kernels.row(parameter, b[parameter]) - first);
  }
  /// Weighted effects of two points: E + b/2 (E² - S).
  [[nodiscard]] double effects(space::Point a, space::Point b) const {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < parameters(); ++i) {
      const double each = weights[i] * similarity(i, a, b);
      sum += each;
      squares += each * each;
    }
    return sum + scales[kPairs] / 2 * (sum * sum - squares);
  }
  [[nodiscard]] double covariance(const Place& of_a, space::Point a, const Place& of_b, space::Point b) const {
    const bool machine = of_a.machine == of_b.machine, network = of_a.network == of_b.network;
    const double level = kCommonLevel + (machine ? scales[kMachineLevel] : 0) + (network ? scales[kNetworkLevel] : 0) +
                         (machine && network ? scales[kGroupLevel] : 0);
    const double alike = 1 + (machine ? scales[kOfMachine] : 0) + (network ? scales[kOfNetwork] : 0) +
                         (machine && network ? scales[kOfGroup] : 0);
    return level + alike * effects(a, b);
  }

  void fit();
  void condition();
};

namespace {

/// Which of the measurements share a machine, a network: n × n, 1 and 0.
struct Sharing {
  MatrixXd machine, network, both;
};

Sharing sharing_of(const std::vector<Measurement>& measurements) {
  const auto count = static_cast<Eigen::Index>(measurements.size());
  Sharing sharing{MatrixXd(count, count), MatrixXd(count, count), MatrixXd(count, count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < count; ++j) {
      const Place& a = measurements[static_cast<std::size_t>(i)].place;
      const Place& b = measurements[static_cast<std::size_t>(j)].place;
      sharing.machine(i, j) = a.machine == b.machine ? 1 : 0;
      sharing.network(i, j) = a.network == b.network ? 1 : 0;
    }
  }
  sharing.both = sharing.machine.cwiseProduct(sharing.network);
  return sharing;
}

/// The log posterior density of the scales and its gradient, over their logarithms.
class Evidence {
 public:
  Evidence(const VectorXd& values, std::vector<MatrixXd> similarities, Sharing sharing)
      : values_(values), similarities_(std::move(similarities)), sharing_(std::move(sharing)) {}

  [[nodiscard]] std::size_t dimensions() const { return similarities_.size() + kScales; }
  [[nodiscard]] LogNormal prior(std::size_t place) const {
    const std::size_t count = similarities_.size();
    if (place >= count) return kPriors.at(place - count);
    return {.median = kWeight.median / static_cast<double>(count), .sd = kWeight.sd};
  }

  /// -infinity: K is not positive definite; then the gradient is 0. An empty gradient is not asked for.
  [[nodiscard]] double evaluate(const std::vector<double>& logs, std::vector<double>& gradient) const {
    const Terms terms = terms_of(logs);
    const Eigen::LLT<MatrixXd> factor(covariance_of(logs, terms));
    if (factor.info() != Eigen::Success) {
      std::ranges::fill(gradient, 0);
      return -HUGE_VAL;
    }
    const VectorXd alpha = factor.solve(values_);
    const VectorXd diagonal = factor.matrixLLT().diagonal();
    double density = -values_.dot(alpha) / 2 - diagonal.array().log().sum();
    if (!gradient.empty()) {
      const MatrixXd precision = factor.solve(MatrixXd::Identity(values_.size(), values_.size()));
      differentiate(logs, terms, (alpha * alpha.transpose() - precision) / 2, gradient);
    }
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const LogNormal known = prior(i);
      const double away = (logs[i] - std::log(known.median)) / known.sd;
      density -= away * away / 2;
      if (!gradient.empty()) gradient[i] -= away / known.sd;
    }
    return density;
  }

 private:
  /// n × n each.
  struct Terms {
    MatrixXd sum;      // E
    MatrixXd pairs;    // b/2 (E² - S)
    MatrixXd effects;  // both together
    MatrixXd alike;    // s
  };

  [[nodiscard]] double scale(const std::vector<double>& logs, Scale which) const {
    return std::exp(logs[similarities_.size() + which]);
  }

  [[nodiscard]] Terms terms_of(const std::vector<double>& logs) const {
    const Eigen::Index n = values_.size();
    Terms terms{.sum = MatrixXd::Zero(n, n), .pairs = {}, .effects = {}, .alike = MatrixXd::Ones(n, n)};
    MatrixXd squares = MatrixXd::Zero(n, n);
    for (std::size_t i = 0; i < similarities_.size(); ++i) {
      const double weight = std::exp(logs[i]);
      terms.sum += weight * similarities_[i];
      squares += weight * weight * similarities_[i].cwiseAbs2();
    }
    terms.pairs = scale(logs, kPairs) / 2 * (terms.sum.cwiseAbs2() - squares);
    terms.effects = terms.sum + terms.pairs;
    terms.alike += scale(logs, kOfMachine) * sharing_.machine + scale(logs, kOfNetwork) * sharing_.network +
                   scale(logs, kOfGroup) * sharing_.both;
    return terms;
  }

  [[nodiscard]] MatrixXd covariance_of(const std::vector<double>& logs, const Terms& terms) const {
    MatrixXd covariance = terms.alike.cwiseProduct(terms.effects);
    covariance.array() += kCommonLevel;
    covariance += scale(logs, kMachineLevel) * sharing_.machine + scale(logs, kNetworkLevel) * sharing_.network +
                  scale(logs, kGroupLevel) * sharing_.both;
    covariance.diagonal().array() += scale(logs, kNoise) + kLeastNoise;
    return covariance;
  }

  /// `slope`: (a a' - K⁻¹) / 2.
  void differentiate(const std::vector<double>& logs, const Terms& terms, const MatrixXd& slope,
                     std::vector<double>& gradient) const {
    const std::size_t count = similarities_.size();
    const MatrixXd of_effects = slope.cwiseProduct(terms.alike), of_alike = slope.cwiseProduct(terms.effects);
    for (std::size_t i = 0; i < count; ++i) {
      const MatrixXd each = std::exp(logs[i]) * similarities_[i];
      const MatrixXd change = each + scale(logs, kPairs) * each.cwiseProduct(terms.sum - each);
      gradient[i] = of_effects.cwiseProduct(change).sum();
    }
    const auto put = [&](Scale which, double along) { gradient[count + which] = along; };
    const auto times = [&](Scale which, const MatrixXd& slopes, const MatrixXd& where) {
      put(which, scale(logs, which) * slopes.cwiseProduct(where).sum());
    };
    put(kPairs, of_effects.cwiseProduct(terms.pairs).sum());
    times(kOfMachine, of_alike, sharing_.machine);
    times(kOfNetwork, of_alike, sharing_.network);
    times(kOfGroup, of_alike, sharing_.both);
    times(kMachineLevel, slope, sharing_.machine);
    times(kNetworkLevel, slope, sharing_.network);
    times(kGroupLevel, slope, sharing_.both);
    put(kNoise, scale(logs, kNoise) * slope.trace());
  }

  const VectorXd& values_;
  std::vector<MatrixXd> similarities_;
  Sharing sharing_;
};

/// Logarithms of the scales with the highest posterior density, found from the medians of their priors.
std::vector<double> likeliest(Evidence evidence) {
  const std::size_t dimensions = evidence.dimensions();
  std::vector<double> logs(dimensions), lower(dimensions), upper(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    logs[i] = std::log(evidence.prior(i).median);
    lower[i] = logs[i] - kFarthest;
    upper[i] = logs[i] + kFarthest;
  }
  nlopt::opt optimiser(nlopt::LD_LBFGS, static_cast<unsigned>(dimensions));
  optimiser.set_lower_bounds(lower);
  optimiser.set_upper_bounds(upper);
  optimiser.set_maxeval(kEvaluations);
  optimiser.set_ftol_abs(1e-3);
  optimiser.set_max_objective([](const std::vector<double>& at, std::vector<double>& gradient,
                                 void* data) { return static_cast<const Evidence*>(data)->evaluate(at, gradient); },
                              &evidence);
  std::vector<double> best = logs;
  double density = 0;
  try {
    optimiser.optimize(best, density);
  } catch (const std::runtime_error&) {  // rounding stopped it: the best seen stands
  }
  return std::isfinite(density) ? best : logs;
}

}  // namespace

void SharedEffects::State::fit() {
  std::vector<MatrixXd> similarities;
  for (std::size_t parameter = 0; parameter < parameters(); ++parameter) {
    MatrixXd& matrix = similarities.emplace_back(size(), size());
    for (Eigen::Index i = 0; i < size(); ++i)
      for (Eigen::Index j = 0; j < size(); ++j)
        matrix(i, j) = similarity(parameter, measurements[static_cast<std::size_t>(i)].point,
                                  measurements[static_cast<std::size_t>(j)].point);
  }
  const auto logs = likeliest(Evidence(values, std::move(similarities), sharing_of(measurements)));
  for (std::size_t i = 0; i < parameters(); ++i) weights.push_back(std::exp(logs[i]));
  for (std::size_t i = 0; i < kScales; ++i) scales.at(i) = std::exp(logs[parameters() + i]);
}

/// Factorises with the scales that were found.
void SharedEffects::State::condition() {
  MatrixXd matrix(size(), size());
  for (Eigen::Index i = 0; i < size(); ++i) {
    const Measurement& a = measurements[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Measurement& b = measurements[static_cast<std::size_t>(j)];
      matrix(i, j) = matrix(j, i) = covariance(a.place, a.point, b.place, b.point);
    }
    matrix(i, i) += scales[kNoise] + kLeastNoise;
  }
  factor.compute(matrix);
  alpha = factor.solve(values);
}

SharedEffects::SharedEffects(const space::Lattice& lattice, std::vector<Measurement> measurements)
    : state_(std::make_unique<State>(lattice, std::move(measurements))) {
  state_->fit();
  state_->condition();
}

SharedEffects::~SharedEffects() = default;
SharedEffects::SharedEffects(SharedEffects&&) noexcept = default;
SharedEffects& SharedEffects::operator=(SharedEffects&&) noexcept = default;

std::vector<Expectation> SharedEffects::expect(const Place& place, const space::PointList& points,
                                               space::Point reference) const {
  const State& state = *state_;
  const auto with_all = [&](space::Point point) {
    VectorXd column(state.size());
    for (Eigen::Index i = 0; i < state.size(); ++i) {
      const Measurement& each = state.measurements[static_cast<std::size_t>(i)];
      column(i) = state.covariance(place, point, each.place, each.point);
    }
    return column;
  };
  const auto own = [&](space::Point a, space::Point b) { return state.covariance(place, a, place, b); };
  const auto sd_of = [&](double variance) { return state.unit * std::sqrt(std::max(variance, 0.0)); };
  const VectorXd of_reference = with_all(reference);
  const VectorXd known_of_reference = state.factor.matrixL().solve(of_reference);
  const double reference_mean = of_reference.dot(state.alpha);
  std::vector<Expectation> expected;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const VectorXd of_point = with_all(points[i]);
    const VectorXd known = state.factor.matrixL().solve(of_point);
    const double mean = of_point.dot(state.alpha);
    const double of_both = own(points[i], points[i]) + own(reference, reference) - 2 * own(points[i], reference);
    expected.push_back({.log_time = state.centre + state.unit * mean,
                        .log_time_sd = sd_of(own(points[i], points[i]) - known.squaredNorm()),
                        .log_gain = state.unit * (reference_mean - mean),
                        .log_gain_sd = sd_of(of_both - (known - known_of_reference).squaredNorm())});
  }
  return expected;
}

double SharedEffects::noise_sd() const {
  return state_->unit * std::sqrt(state_->scales[kNoise]);
}

double SharedEffects::own_share_of_machine() const {
  const double own = state_->scales[kOfMachine] + state_->scales[kOfGroup];
  return own / (1 + own + state_->scales[kOfNetwork]);
}

}  // namespace nocturne::search::transfer
