#include "search/replay/foreign_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "search/replay/cell_reader.hpp"
#include "search/replay/text_file.hpp"

namespace nocturne::search::replay {
namespace {

bool is_number(const space::Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double real_value(const space::Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

space::DomainSpec domain_of(std::vector<space::Value> values) {
  if (std::ranges::all_of(values, is_number)) {
    const bool fractions =
        std::ranges::any_of(values, [](const auto& each) { return std::holds_alternative<double>(each); });
    // 0.5, 1, 2: all are fractions, or the list would have two kinds of numbers.
    for (auto& each : values)
      if (fractions) each = real_value(each);
    std::ranges::sort(values, {}, real_value);
    return space::OrdinalSpec{std::move(values)};
  }
  if (std::ranges::all_of(values, [](const auto& each) { return std::holds_alternative<bool>(each); }))
    return space::BooleanSpec{};
  return space::CategoricalSpec{std::move(values)};
}

/// Puts the space together; each step is a sentence of assemble()'s comment.
class Assembly {
 public:
  explicit Assembly(ForeignSpace foreign) : foreign_(std::move(foreign)) {}

  std::expected<RecordedSpace, std::string> run() {
    choose_columns();
    read_rows();
    if (foreign_.has_rule)
      for (auto& require : foreign_.requirements)
        description_.constraints.push_back({.require = require, .because = "the source requires " + require});
    else
      description_.rows = table_of(description_, rows_);
    std::vector<std::string> notes;
    if (repeated_ > 0)
      notes.push_back(fmt::format("{} rows repeat an earlier configuration; the first of each counts", repeated_));
    auto recorded = RecordedSpace::create(std::move(foreign_.name), std::move(foreign_.kind), std::move(description_),
                                          std::move(rows_), std::move(notes));
    if (recorded) recorded->set_seconds_per_unit(foreign_.seconds_per_unit);
    return recorded;
  }

 private:
  void choose_columns() {
    for (std::size_t i = 0; i < foreign_.parameters.size(); ++i) {
      auto& [name, values] = foreign_.parameters[i];
      const bool keep_last = description_.parameters.empty() && i + 1 == foreign_.parameters.size();
      if (values.size() == 1 && !keep_last) {
        std::visit([&, &named = name](auto held) { description_.facts.set(named, std::move(held)); }, values.front());
        continue;
      }
      space::ParameterSpec spec;
      spec.name = name;
      spec.domain = domain_of(std::move(values));
      readers_.emplace_back(spec);
      description_.parameters.push_back(std::move(spec));
      columns_.push_back(i);
    }
  }

  void read_rows() {
    rows_.columns = columns_.size();
    std::set<std::vector<space::Cell>> seen;
    for (auto& row : foreign_.rows) {
      std::vector<space::Cell> cells;
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const auto& value = row.values[columns_[c]];
        const auto cell = readers_[c].find_value(value);
        if (!cell) {
          throw Wrong{fmt::format("{}: '{}' is {}, none of its values", row.where,
                                  excerpt(description_.parameters[c].name), excerpt(space::to_text(value)))};
        }
        cells.push_back(*cell);
      }
      if (!seen.insert(cells).second) {
        ++repeated_;
        continue;
      }
      rows_.cells.insert(rows_.cells.end(), cells.begin(), cells.end());
      rows_.objectives.push_back(row.objective);
      rows_.outcomes.push_back(row.outcome);
      rows_.cost_ms.push_back(row.cost_ms);
      rows_.first_time.push_back(rows_.times.size());
      rows_.times.insert(rows_.times.end(), row.times.begin(), row.times.end());
    }
    rows_.first_time.push_back(rows_.times.size());
  }

  ForeignSpace foreign_;
  SpaceDescription description_;
  std::vector<CellReader> readers_;
  std::vector<std::size_t> columns_;  // of the rows' values, those that are parameters
  Rows rows_;
  std::size_t repeated_ = 0;
};

}  // namespace

std::vector<ForeignParameter> occurring_values(const std::vector<std::string>& names,
                                               const std::vector<ForeignRow>& rows) {
  std::vector<ForeignParameter> parameters;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ForeignParameter parameter{.name = names[i], .values = {}};
    std::set<std::string> seen;  // by text: 1 and 1.0 come from one tool and are not mixed
    for (const auto& row : rows)
      if (seen.insert(space::to_json(row.values[i]).dump()).second) parameter.values.push_back(row.values[i]);
    if (parameter.values.size() > kMaxValues)
      throw Wrong{fmt::format("'{}' has {} values, more than {}", excerpt(parameter.name), seen.size(), kMaxValues)};
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::string as_parameter_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
    name += letter ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name.insert(0, "_");
  return name;
}

std::string name_from(const std::filesystem::path& file) {
  auto name = file.filename().string();
  return name.substr(0, std::max<std::size_t>(1, name.find('.')));
}

std::expected<RecordedSpace, std::string> reported(
    const std::filesystem::path& file, const std::function<std::expected<RecordedSpace, std::string>()>& load) {
  std::expected<RecordedSpace, std::string> recorded = std::unexpected(std::string());
  try {
    recorded = load();
  } catch (const Wrong& wrong) {
    recorded = std::unexpected(wrong.sentence);
  }
  if (!recorded) return std::unexpected(fmt::format("{}: {}", file.string(), recorded.error()));
  return recorded;
}

std::expected<RecordedSpace, std::string> assemble(ForeignSpace foreign) {
  if (foreign.parameters.empty()) throw Wrong{"it has no parameters"};
  return Assembly(std::move(foreign)).run();
}

space::Value value_at(const nlohmann::json& value, const std::string& where) {
  try {
    return space::value_from_json(value);
  } catch (const std::invalid_argument& error) {
    throw Wrong{fmt::format("{}: {}", where, error.what())};
  }
}

const nlohmann::json& member(const nlohmann::json& object, const char* name, nlohmann::json::value_t type,
                             const std::string& where) {
  if (!object.is_object()) throw Wrong{fmt::format("{}: found a JSON {}, not an object", where, object.type_name())};
  const auto found = object.find(name);
  if (found == object.end()) throw Wrong{fmt::format("{}: '{}' is missing", where.empty() ? "/" : where, name)};
  if (found->type() != type) {
    throw Wrong{fmt::format("{}/{}: found a JSON {}, not {}", where, name, found->type_name(),
                            nlohmann::json(type).type_name())};
  }
  return *found;
}

std::string text_or(const nlohmann::json& object, const char* name, std::string otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::move(otherwise);
}

void replace_python_numbers(std::string& text) {
  constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};
  bool inside = false;  // a text
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (inside) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        inside = false;
      continue;
    }
    if (text[i] == '"') inside = true;
    for (const auto word : kWords) {
      if (text[i] != word.front() || text.compare(i, word.size(), word) != 0) continue;
      text.replace(i, word.size(), "\"?\"" + std::string(word.size() - 3, ' '));
      i += word.size() - 1;
      break;
    }
  }
}

}  // namespace nocturne::search::replay
