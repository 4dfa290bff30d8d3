#pragma once
/// How long the functions of a C++ source are, found by its braces. A formatted source is required, a compiler is not.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::architecture {

struct Function {
  std::string name;       ///< as it is defined: "Campaign::open"
  std::size_t line = 0;   ///< number of its first line, from 1
  std::size_t lines = 0;  ///< from there to its closing brace
  friend bool operator==(const Function&, const Function&) = default;
};

/// All definitions, of classes' members too, in the order of their ends. Lambdas and local classes belong to the
/// function around them.
[[nodiscard]] std::vector<Function> functions_of(std::string_view source);

}  // namespace nocturne::architecture
