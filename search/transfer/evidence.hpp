#pragma once

/// The scales of the model of shared effects (shared_effects.hpp has its equations), and which of them are likeliest.

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace nocturne::search::transfer {

/// The scales beside one weight a parameter, in the order in which the optimiser sees them.
enum class Scale : std::size_t {
  Pairs,         ///< b2
  Local,         ///< b3
  Itself,        ///< b4
  OfMachine,     ///< r_m
  OfNetwork,     ///< r_n
  OfGroup,       ///< r_g
  MachineLevel,  ///< l_m
  NetworkLevel,  ///< l_n
  GroupLevel,    ///< l_g
  Rest,          ///< what nothing else of this machine bears out, and noise
};
inline constexpr std::size_t kScales = 10;

/// A value: variances relative to that of an average group's effects, and the amplitude of each group.
struct Scales {
  std::vector<double> weights;     ///< w, by parameter
  std::vector<double> of;          ///< by Scale
  std::vector<double> amplitudes;  ///< a, by group

  [[nodiscard]] double operator[](Scale which) const { return of[static_cast<std::size_t>(which)]; }
  /// The share of effects' variance that two places have in common.
  [[nodiscard]] double shared(bool machine, bool network) const;
  /// The variance of times that they have in common beside effects, c included.
  [[nodiscard]] double level(bool machine, bool network) const;
};

/// What the scales apply to, of all measurements.
struct Pairings {
  std::vector<Eigen::MatrixXd> similarities;  ///< k_i, by parameter: n × n
  Eigen::MatrixXd closeness;                  ///< P: n × n
  Eigen::MatrixXd itself;                     ///< 1 where it is the same point, else 0: n × n
  Eigen::MatrixXd machine, network, both;     ///< 1 where it is the same, else 0: n × n
  std::vector<std::size_t> groups;            ///< of each measurement
  std::vector<double> spreads{};              ///< standard deviation of each group, in units: where amplitudes begin
};

/// The highest posterior density, by NLopt's L-BFGS. `values`: n, in units, centred.
[[nodiscard]] Scales likeliest_scales(const Eigen::VectorXd& values, const Pairings& pairings);

/// Standard deviations of logarithms that are believed of scales before anything was measured: of how much a group's
/// effects are stronger or weaker than others' (half or twice as strong is nothing unusual), and of how much of them a
/// machine or a network has to itself, against what it shares.
inline constexpr double kAmplitudeSd = 0.69;
inline constexpr double kOwnSd = 1.2;

}  // namespace nocturne::search::transfer
