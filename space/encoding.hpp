#pragma once

/// Configurations as vectors, for models.
///
/// Layout: the parameters in the order of the space, each with these columns:
///
///   active        only if the parameter is conditional: 1 active, 0 inactive (then its other columns are 0)
///   Boolean       one column: 0 or 1
///   Integer       one column: position from lower to upper, 0 to 1, by logarithm where logarithmic
///   Real          likewise
///   Ordinal       one column: index / (size - 1); 0 where there is one value
///   Categorical   one column a value: 1 for the value, 0 for the others
///
/// decode(encode(c)) == c for every valid c (real values rounded as Parameter says; of an integer range with more than
/// 2⁵³ values a double distinguishes only some). decode() of any other vector takes the nearest value of each column,
/// drops what is inactive, and may give a configuration that constraints forbid.

#include <string>
#include <vector>

#include <Eigen/Core>

#include "space/configuration.hpp"
#include "space/space.hpp"

namespace nocturne::space {

/// Immutable; holds a copy of the space.
class Encoding {
 public:
  struct Column {
    std::string name;           ///< "threads", "compiler=g++", "xla active"
    std::size_t parameter = 0;  ///< index in Space::parameters()
  };

  explicit Encoding(Space space);
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  /// REQUIRES: configuration is valid.
  [[nodiscard]] Eigen::VectorXd encode(const Configuration& configuration) const;
  /// REQUIRES: vector.size() == columns().size().
  [[nodiscard]] Configuration decode(const Eigen::VectorXd& vector) const;

 private:
  Space space_;
  std::vector<Column> columns_;
};

}  // namespace nocturne::space
