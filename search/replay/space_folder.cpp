#include "search/replay/space_folder.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "search/replay/cell_reader.hpp"
#include "search/replay/foreign_rows.hpp"
#include "search/replay/text_file.hpp"
#include "space/outcome.hpp"
#include "space/stage.hpp"
#include "space/write_file.hpp"

namespace nocturne::search::replay {
namespace {

// Comma-separated values (RFC 4180), a record at a time.

/// Walks through a text that outlives it.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}
  /// The next record's fields, valid until the next call. Empty lines are skipped; false: the end.
  bool next();
  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::size_t line() const { return line_; }  ///< line on which the record begins, from 1
  [[nodiscard]] bool is_torn() const { return torn_; }      ///< the text ended inside a quoted field

 private:
  std::string_view quoted_field();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::size_t lines_ = 1;
  bool torn_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unescaped_;  // fields with quotes inside
};

bool CsvReader::next() {
  fields_.clear();
  unescaped_.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) lines_ += text_[at_++] == '\n' ? 1U : 0U;
  line_ = lines_;
  if (at_ >= text_.size()) return false;
  while (true) {
    if (at_ < text_.size() && text_[at_] == '"') {
      fields_.push_back(quoted_field());
    } else {
      const auto end = std::min(text_.find_first_of(",\n", at_), text_.size());
      auto field = text_.substr(at_, end - at_);
      if (field.ends_with('\r')) field.remove_suffix(1);
      fields_.push_back(field);
      at_ = end;
    }
    if (at_ >= text_.size() || text_[at_] != ',') break;
    ++at_;
  }
  return true;
}

std::string_view CsvReader::quoted_field() {
  const auto begin = ++at_;
  bool escaped = false;
  while (true) {
    const auto quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      torn_ = true;
      at_ = text_.size();
      return text_.substr(begin);
    }
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') break;
    escaped = true;
    ++at_;
  }
  const auto inside = text_.substr(begin, at_ - 1 - begin);
  lines_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
  // What follows a closing quote, up to the comma, belongs to nothing.
  at_ = std::min(text_.find_first_of(",\n", at_), text_.size());
  if (!escaped) return inside;
  // Behind a pointer, so that the view handed out stays valid when further fields follow.
  auto& plain = *unescaped_.emplace_back(std::make_unique<std::string>());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return plain;
}

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<space::Value> values_of(const json& list, const std::string& where) {
  if (list.empty()) throw Wrong{where + ": the list is empty"};
  if (list.size() > kMaxValues) throw Wrong{fmt::format("{}: {} values, more than {}", where, list.size(), kMaxValues)};
  std::vector<space::Value> values;
  bool fractions = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    values.push_back(value_at(list[i], fmt::format("{}/{}", where, i)));
    fractions = fractions || list[i].is_number_float();
  }
  // 0.5, 1, 2: all are fractions, or the list would have two kinds of numbers.
  for (auto& value : values)
    if (const auto* whole = std::get_if<std::int64_t>(&value); fractions && whole != nullptr)
      value = static_cast<double>(*whole);
  return values;
}

space::DomainSpec domain_of(const std::string& type, std::vector<space::Value> values, const std::string& where) {
  if (type == "categorical") return space::CategoricalSpec{std::move(values)};
  if (type == "ordinal") return space::OrdinalSpec{std::move(values)};
  if (type != "integer")
    throw Wrong{fmt::format("{}/type: found '{}', not ordinal, integer or categorical", where, excerpt(type))};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* whole = std::get_if<std::int64_t>(&values[i]);
    const auto* before = i == 0 ? nullptr : &std::get<std::int64_t>(values[i - 1]);
    if (whole == nullptr || (before != nullptr && *before == INT64_MAX) || (before != nullptr && *before + 1 != *whole))
      throw Wrong{fmt::format("{}/values/{}: an integer's values are consecutive integers", where, i)};
  }
  return space::IntegerRangeSpec{.lower = std::get<std::int64_t>(values.front()),
                                 .upper = std::get<std::int64_t>(values.back())};
}

space::ParameterSpec parameter_of(const json& object, const std::string& where) {
  space::ParameterSpec spec;
  spec.name = member(object, "name", json::value_t::string, where).get<std::string>();
  const auto type = member(object, "type", json::value_t::string, where).get<std::string>();
  spec.domain =
      domain_of(type, values_of(member(object, "values", json::value_t::array, where), where + "/values"), where);
  spec.active_if = text_or(object, "active_if", "");
  spec.unit = text_or(object, "unit", "");
  spec.description = text_or(object, "description", "");
  const auto stage = text_or(object, "stage", std::string(space::to_text(space::Stage::Run)));
  const auto known = space::stage_from_text(stage);
  if (!known) throw Wrong{fmt::format("{}/stage: found '{}', no stage", where, excerpt(stage))};
  spec.stage = *known;
  return spec;
}

SpaceDescription description_of(const json& document) {
  SpaceDescription description;
  const auto& parameters = member(document, "parameters", json::value_t::array, "");
  for (std::size_t i = 0; i < parameters.size(); ++i)
    description.parameters.push_back(parameter_of(parameters[i], fmt::format("/parameters/{}", i)));
  if (const auto fixed = document.find("fixed"); fixed != document.end()) {
    if (!fixed->is_object()) throw Wrong{fmt::format("/fixed: found a JSON {}", fixed->type_name())};
    for (const auto& [name, value] : fixed->items()) {
      std::visit([&, &named = name](auto held) { description.facts.set(named, std::move(held)); },
                 value_at(value, "/fixed/" + excerpt(name)));
    }
  }
  const auto& constraints = member(document, "constraints", json::value_t::array, "");
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (!constraints[i].is_string())
      throw Wrong{fmt::format("/constraints/{}: found a JSON {}", i, constraints[i].type_name())};
    const auto require = constraints[i].get<std::string>();
    description.constraints.push_back({.require = require, .because = fmt::format("the source requires {}", require)});
  }
  return description;
}

std::optional<space::Outcome> outcome_of(std::string_view status) {
  if (status == "ok") return space::Outcome::Ok;
  if (status == "compile") return space::Outcome::BuildFailed;
  if (status == "runtime") return space::Outcome::Crashed;
  if (status == "error") return space::Outcome::Failed;
  return std::nullopt;
}

/// Reads the records into rows; each error is "LINE: …".
class RowReader {
 public:
  RowReader(std::string_view text, const std::vector<space::ParameterSpec>& parameters)
      : csv_(text), parameters_(parameters) {
    for (const auto& parameter : parameters) cells_.emplace_back(parameter);
    rows_.columns = parameters.size();
  }

  Rows read() {
    if (!csv_.next()) throw Wrong{"1: the file is empty"};
    read_header();
    while (csv_.next()) read_row();
    if (csv_.is_torn()) throw Wrong{fmt::format("{}: a quoted field is not closed", csv_.line())};
    if (times_) rows_.first_time.push_back(rows_.times.size());
    return std::move(rows_);
  }

 private:
  [[noreturn]] void wrong(const std::string& sentence) const {
    throw Wrong{fmt::format("{}: {}", csv_.line(), sentence)};
  }

  void read_header() {
    const auto& names = csv_.fields();
    columns_ = names.size();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (i < names.size() && names[i] == parameters_[i].name) continue;
      wrong(fmt::format("column {} is '{}', it should be the parameter '{}'", i + 1,
                        i < names.size() ? excerpt(names[i]) : "missing", excerpt(parameters_[i].name)));
    }
    for (std::size_t i = parameters_.size(); i < names.size(); ++i) {
      if (names[i] == "objective") objective_ = i;
      if (names[i] == "status") status_ = i;
      if (names[i] == "cost_ms") cost_ = i;
      if (names[i] == "times") times_ = i;
    }
    if (!objective_ || !status_) wrong("the columns 'objective' and 'status' are missing");
  }

  void read_row() {
    const auto& fields = csv_.fields();
    if (fields.size() != columns_) wrong(fmt::format("{} fields, the header has {}", fields.size(), columns_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) rows_.cells.push_back(cell(i, fields[i]));
    const auto outcome = outcome_of(fields[*status_]);
    if (!outcome) wrong(fmt::format("status is '{}', not ok, compile, runtime or error", excerpt(fields[*status_])));
    const auto objective = fields[*objective_];
    const bool is_ok = *outcome == space::Outcome::Ok;
    const auto value = number_in(objective);
    if (is_ok && !(value && *value > 0))
      wrong(fmt::format("objective is '{}', it must be a positive number", excerpt(objective)));
    // Either half may be the wrong one, so the row is refused rather than guessed at.
    if (!is_ok && !objective.empty()) wrong(fmt::format("it failed, and has the objective '{}'", excerpt(objective)));
    rows_.outcomes.push_back(*outcome);
    rows_.objectives.push_back(is_ok ? *value : std::numeric_limits<double>::quiet_NaN());
    if (cost_) rows_.cost_ms.push_back(optional_number(fields[*cost_], "cost_ms"));
    if (times_) read_times(fields[*times_]);
  }

  space::Cell cell(std::size_t parameter, std::string_view text) {
    const auto& spec = parameters_[parameter];
    // Only a conditional parameter may be absent; elsewhere an empty field is a damaged file.
    if (text.empty() && !spec.active_if.empty()) return space::kNoValue;
    if (const auto found = cells_[parameter].find_text(text)) return *found;
    wrong(fmt::format("'{}' is '{}', none of its values", excerpt(spec.name), excerpt(text)));
  }

  double optional_number(std::string_view text, const char* name) const {
    if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
    if (const auto number = number_in(text)) return *number;
    wrong(fmt::format("{} is '{}', no number", name, excerpt(text)));
  }

  void read_times(std::string_view text) {
    rows_.first_time.push_back(rows_.times.size());
    while (!text.empty()) {
      const auto end = std::min(text.find(';'), text.size());
      rows_.times.push_back(static_cast<float>(optional_number(text.substr(0, end), "times")));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  CsvReader csv_;
  const std::vector<space::ParameterSpec>& parameters_;
  std::vector<CellReader> cells_;
  std::size_t columns_ = 0;
  std::optional<std::size_t> objective_, status_, cost_, times_;
  Rows rows_;
};

using nlohmann::ordered_json;

std::string_view status_of(space::Outcome outcome) {
  switch (outcome) {
    case space::Outcome::Ok:
      return "ok";
    case space::Outcome::BuildFailed:
      return "compile";
    case space::Outcome::Crashed:
    case space::Outcome::OutOfMemory:
    case space::Outcome::Timeout:
      return "runtime";
    default:
      return "error";
  }
}

ordered_json parameter_json(const space::Parameter& parameter) {
  ordered_json values = ordered_json::array();
  for (std::uint64_t i = 0; i < parameter.size(); ++i)
    values.push_back(ordered_json(space::to_json(parameter.value(i))));
  // Two values have no order to learn from; as categories they are read back as they were.
  const bool is_ordered = parameter.is_ordered() && parameter.kind != space::Kind::Boolean;
  ordered_json object = {{"name", parameter.name}, {"type", is_ordered ? "ordinal" : "categorical"}};
  object["values"] = std::move(values);
  object["stage"] = space::to_text(parameter.stage);
  if (!parameter.active_if.empty()) object["active_if"] = parameter.active_if;
  if (!parameter.unit.empty()) object["unit"] = parameter.unit;
  if (!parameter.description.empty()) object["description"] = parameter.description;
  return object;
}

std::string description_of(const RecordedSpace& recorded) {
  const auto& space = recorded.space();
  std::string parameters;
  for (const auto& each : space.parameters())
    fmt::format_to(std::back_inserter(parameters), "{}\n    {}", parameters.empty() ? "" : ",",
                   parameter_json(each).dump());
  ordered_json constraints = ordered_json::array();
  for (const auto& each : space.constraints()) constraints.push_back(each.require);
  const auto text = [](const auto& value) { return ordered_json(value).dump(); };
  return fmt::format(
      "{{\n  \"format\": 1,\n  \"name\": {},\n  \"kind\": {},\n"
      "  \"objective\": {{\"name\": \"time\", \"unit\": \"seconds\", \"direction\": \"min\"}},\n"
      "  \"parameters\": [{}\n  ],\n  \"constraints\": {},\n  \"constraints_exact\": false\n}}\n",
      text(recorded.name()), text(recorded.kind()), parameters, constraints.dump());
}

/// Without those that are no finite numbers: they say nothing, and no reader takes them.
std::string times_text(std::span<const float> times) {
  std::string text;
  for (const float each : times)
    if (std::isfinite(each)) fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ";", each);
  return text;
}

std::string table_of(const RecordedSpace& recorded) {
  const auto& rows = recorded.rows();
  const auto& parameters = recorded.space().parameters();
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& each : parameters) fmt::format_to(out, "{},", csv_field(each.name));
  const bool has_cost = !rows.cost_ms.empty();
  const bool has_times = !rows.first_time.empty();
  fmt::format_to(out, "objective,status{}{}\n", has_cost ? ",cost_ms" : "", has_times ? ",times" : "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const auto cell = rows.row(i)[p];
      if (cell != space::kNoValue) text += csv_field(space::to_text(parameters[p].value(cell)));
      text += ',';
    }
    if (!std::isnan(rows.objectives[i])) fmt::format_to(out, "{}", rows.objectives[i]);
    fmt::format_to(out, ",{}", status_of(rows.outcomes[i]));
    if (has_cost) text += std::isfinite(rows.cost_ms[i]) ? fmt::format(",{:.3f}", rows.cost_ms[i]) : ",";
    if (has_times) text += ',' + times_text(rows.times_of(i));
    text += '\n';
  }
  return text;
}

/// gzip without a name and a date, so that equal texts give equal bytes.
std::string compress(std::string_view text) {
  // 16 more asks zlib for a gzip frame; by itself it writes its own.
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate did not come to the end");
  return packed;
}

}  // namespace

std::expected<RecordedSpace, std::string> load_space_folder(const fs::path& folder) {
  const auto description_file = folder / "space.json";
  auto results_file = folder / "results.csv.gz";
  std::error_code error;
  if (!fs::exists(results_file, error)) results_file = folder / "results.csv";
  const auto description_text = read_text(description_file);
  if (!description_text) return std::unexpected(description_text.error());
  const auto document = parse_json(*description_text, description_file);
  if (!document) return std::unexpected(document.error());
  SpaceDescription description;
  std::string name;
  bool exact = false;
  try {
    name = member(*document, "name", json::value_t::string, "").get<std::string>();
    exact = member(*document, "constraints_exact", json::value_t::boolean, "").get<bool>();
    description = description_of(*document);
  } catch (const Wrong& wrong) {
    return std::unexpected(fmt::format("{}: {}", description_file.string(), wrong.sentence));
  }
  const auto text = read_text(results_file);
  if (!text) return std::unexpected(text.error());
  Rows rows;
  try {
    rows = RowReader(*text, description.parameters).read();
  } catch (const Wrong& wrong) {
    return std::unexpected(fmt::format("{}:{}", results_file.string(), wrong.sentence));
  }
  // The source does not promise that its constraints say everything: the rows themselves are the space then.
  if (!exact) description.rows = table_of(description, rows);
  auto recorded =
      RecordedSpace::create(std::move(name), text_or(*document, "kind", ""), std::move(description), std::move(rows));
  if (!recorded) return std::unexpected(fmt::format("{}: {}", folder.string(), recorded.error()));
  return recorded;
}

SpaceFolder write_space_folder(const RecordedSpace& recorded) {
  return {.description = description_of(recorded), .results = compress(table_of(recorded))};
}

std::expected<void, std::string> save_space_folder(const RecordedSpace& recorded, const fs::path& folder) {
  const auto name = fs::path(recorded.name());
  if (name != name.filename() || name == "." || name == "..")
    return std::unexpected(fmt::format("a folder cannot be named after the space '{}'", recorded.name()));
  const auto files = write_space_folder(recorded);
  for (const auto& [file, text] : {std::pair("results.csv.gz", &files.results), {"space.json", &files.description}})
    if (auto written = space::write_file(folder / name / file, *text); !written) return written;
  return {};
}

}  // namespace nocturne::search::replay
