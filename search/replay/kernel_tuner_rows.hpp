#pragma once

/// The rows of a cache file or of T4 results, for the readers of kernel_tuner.hpp.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/replay/foreign_rows.hpp"

namespace nocturne::search::replay {

/// Names of the parameters, and the rows with a value for each. All throw Wrong.
struct NamedRows {
  std::vector<std::string> names;
  std::vector<ForeignRow> rows;
};

/// `names`: the parameters in their order, which JSON objects do not keep.
[[nodiscard]] NamedRows rows_of_cache(const nlohmann::json& document, std::vector<std::string> names);
/// Without names: those of the first configuration.
[[nodiscard]] NamedRows rows_of_results(const nlohmann::json& document, std::vector<std::string> names);

/// The values that occur in each column, in the order of first occurrence.
[[nodiscard]] std::vector<ForeignParameter> occurring_values(const NamedRows& named);

}  // namespace nocturne::search::replay
