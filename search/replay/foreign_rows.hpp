#pragma once

/// What the formats of other tuners have in common: rows with named values, from which a space is put together.

#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/replay/recorded_space.hpp"
#include "space/outcome.hpp"
#include "space/value.hpp"

namespace nocturne::search::replay {

/// A defect of a foreign file: place and what was found there. Thrown by readers, caught where the file's name is
/// known.
struct Wrong {
  std::string sentence;
};

/// Values of one parameter; more are a defect of the source. Checking them takes the square of their number.
inline constexpr std::size_t kMaxValues = 10'000;

struct ForeignParameter {
  std::string name;
  std::vector<space::Value> values;  ///< without repetitions
};

struct ForeignRow {
  std::string where;                 ///< "/cache/16,1"
  std::vector<space::Value> values;  ///< a value a parameter
  space::Outcome outcome = space::Outcome::Ok;
  double objective = std::numeric_limits<double>::quiet_NaN();
  double cost_ms = std::numeric_limits<double>::quiet_NaN();
  std::vector<float> times;
};

struct ForeignSpace {
  std::string name;
  std::string kind;
  std::vector<ForeignParameter> parameters;
  std::vector<std::string> requirements;  ///< expressions; see has_rule
  bool has_rule = false;                  ///< requirements are the whole rule; else the rows alone are valid
  std::vector<ForeignRow> rows;
  double seconds_per_unit = 1;  ///< of the objectives
};

/// The values that occur in each column, in the order of first occurrence. Throws Wrong where there are too many.
[[nodiscard]] std::vector<ForeignParameter> occurring_values(const std::vector<std::string>& names,
                                                             const std::vector<ForeignRow>& rows);

/// What expressions can name: "learning-rate" → "learning_rate".
[[nodiscard]] std::string as_parameter_name(const std::string& text);

/// "convolution.json.gz" → "convolution".
[[nodiscard]] std::string name_from(const std::filesystem::path& file);

/// What `load` gives; the defects of a file, thrown as Wrong too, become sentences that name it.
[[nodiscard]] std::expected<RecordedSpace, std::string> reported(
    const std::filesystem::path& file, const std::function<std::expected<RecordedSpace, std::string>()>& load);

/// Lists of numbers become ordinals in ascending order, true and false a boolean, anything else a category; parameters
/// with one value become facts that requirements may name. If rows repeat a configuration, the first counts.
[[nodiscard]] std::expected<RecordedSpace, std::string> assemble(ForeignSpace foreign);

/// A boolean, number or text. Throws Wrong.
[[nodiscard]] space::Value value_at(const nlohmann::json& value, const std::string& where);

/// The member of an object, of that type. Throws Wrong.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* name, nlohmann::json::value_t type,
                                           const std::string& where);
/// The text of a member, or another where there is none.
[[nodiscard]] std::string text_or(const nlohmann::json& object, const char* name, std::string otherwise);

/// Python writes NaN, Infinity and -Infinity, which JSON has not: outside of texts they become texts of the same
/// length ("?"), so that they are refused only where a number matters. Places in the text do not move.
void replace_python_numbers(std::string& text);

}  // namespace nocturne::search::replay
