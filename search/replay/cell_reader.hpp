#pragma once

/// Turns a value as a file writes it into the number of that value in its parameter.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "space/counting/row_table.hpp"
#include "space/parameter.hpp"
#include "space/value.hpp"

namespace nocturne::search::replay {

/// A finite decimal number, all of the text. Empty: something else.
[[nodiscard]] std::optional<double> number_in(std::string_view text);

/// The values of one parameter, looked up by text or value: 16 is also 16.0, "16" and (a boolean's true) "1".
/// Remembers texts that it has seen; not thread-safe.
class CellReader {
 public:
  explicit CellReader(const space::ParameterSpec& parameter);
  /// Empty: none of its values.
  [[nodiscard]] std::optional<space::Cell> find_text(std::string_view text);
  [[nodiscard]] std::optional<space::Cell> find_value(const space::Value& value);

 private:
  std::map<std::string, space::Cell, std::less<>> texts_;
  std::map<double, space::Cell> numbers_;
};

/// Values of a domain that lists them or ranges over integers with plain numbers; others have none here.
[[nodiscard]] std::vector<space::Value> listed_values(const space::DomainSpec& domain);

}  // namespace nocturne::search::replay
