#include "search/transfer/evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <Eigen/Cholesky>
#include <nlopt.hpp>

#include "search/model/covariance.hpp"

namespace nocturne::search::transfer {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kCommonLevel = 100;  // variance of what all times have in common: as good as not known
constexpr double kFarthest = 6;       // log units that a scale may lie from its prior's median
constexpr double kLeastRest = 1e-6;   // keeps K positive definite where trials were measured twice
constexpr int kEvaluations = 60;

/// Of interactions, the local part and the rest as the search's own model. A machine or a workload has as much of its
/// own as all have in common, unless several were measured and say otherwise: one alone cannot.
std::array<model::ScalePrior, kScales> priors() {
  const model::ScalePriors search(1);
  return {{search.pairs,
           search.local,
           {.median = 0.02, .sd = 1.5},
           {.median = 1, .sd = kOwnSd},
           {.median = 1, .sd = kOwnSd},
           {.median = 0.1, .sd = kOwnSd},
           {.median = 1, .sd = 2},
           {.median = 4, .sd = 2},
           {.median = 0.1, .sd = 2},
           {.median = 0.02, .sd = 1.5}}};
}

/// The log posterior density of the scales and its gradient, over their logarithms: weights, scales, amplitudes.
class Evidence {
 public:
  Evidence(const VectorXd& values, const Pairings& pairings) : values_(values), at_(pairings), priors_(priors()) {}

  [[nodiscard]] std::size_t dimensions() const { return parameters() + kScales + at_.spreads.size(); }
  [[nodiscard]] model::ScalePrior prior(std::size_t place) const {
    if (place < parameters()) return {.median = 1 / static_cast<double>(parameters()), .sd = 1.5};
    if (place < parameters() + kScales) return priors_.at(place - parameters());
    return {.median = 1, .sd = kAmplitudeSd};
  }
  [[nodiscard]] Scales scales_at(const std::vector<double>& logs) const {
    std::vector<double> all(logs.size());
    std::ranges::transform(logs, all.begin(), [](double each) { return std::exp(each); });
    const auto weights = all.begin() + static_cast<std::ptrdiff_t>(parameters());
    const auto scales = weights + static_cast<std::ptrdiff_t>(kScales);
    return {.weights = {all.begin(), weights}, .of = {weights, scales}, .amplitudes = {scales, all.end()}};
  }

  /// -infinity: K is not positive definite; then the gradient is 0. An empty gradient is not asked for.
  [[nodiscard]] double evaluate(const std::vector<double>& logs, std::vector<double>& gradient) const {
    const Scales scales = scales_at(logs);
    const Terms terms = terms_of(scales);
    const Eigen::LLT<MatrixXd> factor(covariance_of(scales, terms));
    if (factor.info() != Eigen::Success) {
      std::ranges::fill(gradient, 0);
      return -HUGE_VAL;
    }
    const VectorXd alpha = factor.solve(values_);
    const VectorXd diagonal = factor.matrixLLT().diagonal();
    double density = -values_.dot(alpha) / 2 - diagonal.array().log().sum();
    if (!gradient.empty()) {
      const MatrixXd precision = factor.solve(MatrixXd::Identity(values_.size(), values_.size()));
      differentiate(scales, terms, (alpha * alpha.transpose() - precision) / 2, gradient);
    }
    for (std::size_t i = 0; i < logs.size(); ++i) {
      const model::ScalePrior known = prior(i);
      const double away = (logs[i] - std::log(known.median)) / known.sd;
      density -= away * away / 2;
      if (!gradient.empty()) gradient[i] -= away / known.sd;
    }
    return density;
  }

 private:
  /// n × n each, but for the amplitudes.
  struct Terms {
    MatrixXd sum;      // E
    MatrixXd pairs;    // b2/2 (E² - S)
    MatrixXd effects;  // E + b2/2 (E² - S) + b3 P + b4 [x = x']
    MatrixXd alike;    // s
    VectorXd amplitudes;
    MatrixXd scaled;  // a a' s effects, and a² (rest) on the diagonal
  };

  [[nodiscard]] std::size_t parameters() const { return at_.similarities.size(); }

  [[nodiscard]] Terms terms_of(const Scales& scales) const {
    const Eigen::Index n = values_.size();
    Terms terms{.sum = MatrixXd::Zero(n, n), .pairs = {}, .effects = {}, .alike = {}, .amplitudes = {}, .scaled = {}};
    MatrixXd squares = MatrixXd::Zero(n, n);
    for (std::size_t i = 0; i < parameters(); ++i) {
      terms.sum += scales.weights[i] * at_.similarities[i];
      squares += scales.weights[i] * scales.weights[i] * at_.similarities[i].cwiseAbs2();
    }
    terms.pairs = scales[Scale::Pairs] / 2 * (terms.sum.cwiseAbs2() - squares);
    terms.effects = terms.sum + terms.pairs + scales[Scale::Local] * at_.closeness + scales[Scale::Itself] * at_.itself;
    const double machine = scales[Scale::OfMachine], network = scales[Scale::OfNetwork], both = scales[Scale::OfGroup];
    terms.alike = machine * at_.machine + network * at_.network + both * at_.both;
    terms.alike = (1 + terms.alike.array()) / (1 + machine + network + both);
    terms.amplitudes = VectorXd(n);
    for (Eigen::Index i = 0; i < n; ++i)
      terms.amplitudes(i) = scales.amplitudes[at_.groups[static_cast<std::size_t>(i)]];
    terms.scaled = terms.alike.cwiseProduct(terms.effects);
    terms.scaled.diagonal().array() += scales[Scale::Rest] + kLeastRest;
    terms.scaled = terms.amplitudes.asDiagonal() * terms.scaled * terms.amplitudes.asDiagonal();
    return terms;
  }

  [[nodiscard]] MatrixXd covariance_of(const Scales& scales, const Terms& terms) const {
    MatrixXd covariance = terms.scaled;
    covariance.array() += kCommonLevel;
    covariance += scales[Scale::MachineLevel] * at_.machine + scales[Scale::NetworkLevel] * at_.network +
                  scales[Scale::GroupLevel] * at_.both;
    return covariance;
  }

  /// `slope`: (a a' - K⁻¹) / 2.
  void differentiate(const Scales& scales, const Terms& terms, const MatrixXd& slope,
                     std::vector<double>& gradient) const {
    const auto put = [&](Scale which, double along) {
      gradient[parameters() + static_cast<std::size_t>(which)] = scales[which] * along;
    };
    const MatrixXd scaled = terms.amplitudes.asDiagonal() * slope * terms.amplitudes.asDiagonal();
    const MatrixXd of_effects = scaled.cwiseProduct(terms.alike), of_alike = scaled.cwiseProduct(terms.effects);
    for (std::size_t i = 0; i < parameters(); ++i) {
      const MatrixXd each = scales.weights[i] * at_.similarities[i];
      const MatrixXd change = each + scales[Scale::Pairs] * each.cwiseProduct(terms.sum - each);
      gradient[i] = of_effects.cwiseProduct(change).sum();
    }
    put(Scale::Pairs, of_effects.cwiseProduct(terms.pairs).sum() / scales[Scale::Pairs]);
    put(Scale::Local, of_effects.cwiseProduct(at_.closeness).sum());
    put(Scale::Itself, of_effects.cwiseProduct(at_.itself).sum());
    const double all = 1 + scales[Scale::OfMachine] + scales[Scale::OfNetwork] + scales[Scale::OfGroup];
    const double of_all = of_alike.cwiseProduct(terms.alike).sum();
    put(Scale::OfMachine, (of_alike.cwiseProduct(at_.machine).sum() - of_all) / all);
    put(Scale::OfNetwork, (of_alike.cwiseProduct(at_.network).sum() - of_all) / all);
    put(Scale::OfGroup, (of_alike.cwiseProduct(at_.both).sum() - of_all) / all);
    put(Scale::MachineLevel, slope.cwiseProduct(at_.machine).sum());
    put(Scale::NetworkLevel, slope.cwiseProduct(at_.network).sum());
    put(Scale::GroupLevel, slope.cwiseProduct(at_.both).sum());
    put(Scale::Rest, scaled.trace());
    // A group's amplitude scales its rows and its columns.
    const VectorXd rows = slope.cwiseProduct(terms.scaled).rowwise().sum();
    const auto amplitudes = gradient.end() - static_cast<std::ptrdiff_t>(at_.spreads.size());
    std::fill(amplitudes, gradient.end(), 0);
    for (std::size_t i = 0; i < at_.groups.size(); ++i)
      amplitudes[static_cast<std::ptrdiff_t>(at_.groups[i])] += 2 * rows(static_cast<Eigen::Index>(i));
  }

  const VectorXd& values_;
  const Pairings& at_;
  std::array<model::ScalePrior, kScales> priors_;
};

}  // namespace

double Scales::shared(bool machine, bool network) const {
  const double of_machine = (*this)[Scale::OfMachine], of_network = (*this)[Scale::OfNetwork],
               of_group = (*this)[Scale::OfGroup];
  return (1 + (machine ? of_machine : 0) + (network ? of_network : 0) + (machine && network ? of_group : 0)) /
         (1 + of_machine + of_network + of_group);
}

double Scales::level(bool machine, bool network) const {
  return kCommonLevel + (machine ? (*this)[Scale::MachineLevel] : 0) + (network ? (*this)[Scale::NetworkLevel] : 0) +
         (machine && network ? (*this)[Scale::GroupLevel] : 0);
}

Scales likeliest_scales(const VectorXd& values, const Pairings& pairings) {
  Evidence evidence(values, pairings);
  const std::size_t dimensions = evidence.dimensions();
  const std::size_t first_amplitude = dimensions - pairings.spreads.size();
  std::vector<double> logs(dimensions), lower(dimensions), upper(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const double median = std::log(evidence.prior(i).median);
    lower[i] = median - kFarthest;
    upper[i] = median + kFarthest;
    const double begin = i < first_amplitude ? median : std::log(pairings.spreads[i - first_amplitude]);
    logs[i] = std::clamp(begin, lower[i], upper[i]);
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
  Scales scales = evidence.scales_at(std::isfinite(density) ? best : logs);
  scales.of[static_cast<std::size_t>(Scale::Rest)] += kLeastRest;
  return scales;
}

}  // namespace nocturne::search::transfer
