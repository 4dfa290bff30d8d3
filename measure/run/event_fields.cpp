#include "measure/run/event_fields.hpp"

#include <fmt/core.h>

#include <cmath>

namespace nocturne::measure::event_fields {

using nlohmann::json;
using std::chrono::nanoseconds;

const json& field(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end()) throw Rejected(fmt::format("'{}' is missing", key));
  return *found;
}

std::string text(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_string()) throw Rejected(fmt::format("'{}' is not a string", key));
  return value.get<std::string>();
}

std::int64_t integer(const json& event, const char* key, std::int64_t least, std::int64_t most) {
  const json& value = field(event, key);
  if (!value.is_number_integer()) throw Rejected(fmt::format("'{}' is not an integer", key));
  const auto number = value.get<std::int64_t>();
  if (number < least) throw Rejected(fmt::format("'{}' is {}, below {}", key, value.dump(), least));
  if (number > most) throw Rejected(fmt::format("'{}' is {}, above {}", key, number, most));
  return number;
}

double real(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_number()) throw Rejected(fmt::format("'{}' is not a number", key));
  return value.get<double>();
}

nanoseconds seconds(const json& event, const char* key) {
  const double value = real(event, key);
  // Bounds the conversion to nanoseconds as well as the nonsense.
  if (!(value >= 0 && value < std::chrono::duration<double>(kYear).count()))
    throw Rejected(fmt::format("'{}' is {}, no possible duration", key, value));
  return nanoseconds(std::llround(value * 1e9));
}

// A number that is not finite travels as a word (event_writer.cpp); a worker need not know every one.
std::optional<double> number_or_word(const json& event, const char* key, bool& finite) {
  finite = true;
  const auto found = event.find(key);
  if (found == event.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  finite = false;
  if (*found == "nan" || *found == "inf" || *found == "-inf") return std::nullopt;
  throw Rejected(fmt::format("'{}' is neither a number nor \"nan\", \"inf\", \"-inf\"", key));
}

std::optional<double> loss(const json& event, bool& finite) {
  return number_or_word(event, "loss", finite);
}

std::optional<double> real_or_nothing(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional(real(object, key));
}

space::ReadingRange reading_range(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || found->is_null()) return {};
  if (!found->is_object()) throw Rejected(fmt::format("'{}' is no object with min, mean or max", key));
  return {.min = real_or_nothing(*found, "min"),
          .mean = real_or_nothing(*found, "mean"),
          .max = real_or_nothing(*found, "max")};
}

}  // namespace nocturne::measure::event_fields
