#include "search/replay/space_folder_writer.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

#include "space/outcome.hpp"
#include "space/stage.hpp"

namespace nocturne::search::replay {
namespace {

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

/// Quoted where it must be (RFC 4180).
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

ordered_json parameter_json(const space::Parameter& parameter) {
  ordered_json values = ordered_json::array();
  for (std::uint64_t i = 0; i < parameter.size(); ++i)
    values.push_back(ordered_json(space::to_json(parameter.value(i))));
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
  for (const float each : times) {
    if (std::isfinite(each)) fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ";", each);
  }
  return text;
}

std::string table_of(const RecordedSpace& recorded) {
  const auto& rows = recorded.rows();
  const auto& parameters = recorded.space().parameters();
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& each : parameters) fmt::format_to(out, "{},", field(each.name));
  const bool has_cost = !rows.cost_ms.empty();
  const bool has_times = !rows.first_time.empty();
  fmt::format_to(out, "objective,status{}{}\n", has_cost ? ",cost_ms" : "", has_times ? ",times" : "");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const auto cell = rows.row(i)[p];
      if (cell != space::kNoValue) text += field(space::to_text(parameters[p].value(cell)));
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

SpaceFolder write_space_folder(const RecordedSpace& recorded) {
  return {.description = description_of(recorded), .results = compress(table_of(recorded))};
}

}  // namespace nocturne::search::replay
