#pragma once

/// Where there is no compiler, or what it needs is missing, our own worker trains as it came along: how it is built
/// cannot vary.

#include <string>
#include <vector>

#include "space/facts.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// What became of a space for want of a compiler.
struct ShippedBuild {
  /// "no compiler with the worker's headers here: the worker that came along is used as it is; these parameters stay
  /// at: march=x86-64". Empty: there is one, or nothing that it could change varies.
  std::string sentence;
  std::vector<std::string> impossible;  ///< parameters none of whose values is what came along
};

/// Fixes the build parameters at what the program that came along was built with: as their default, and by constraints
/// behind those of the file, so that a new generation begins on the day that there is a compiler. To constraints over
/// `machine.compilers`, g++ is there then. Changes nothing where `machine.can_build` is true, or not known. REQUIRES:
/// the worker is one of ours.
[[nodiscard]] ShippedBuild keep_shipped_build(std::vector<space::ParameterSpec>& parameters,
                                              std::vector<space::ConstraintSpec>& constraints, space::Facts& facts);

}  // namespace nocturne::tuner
