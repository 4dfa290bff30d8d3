#pragma once

/// Fields of one event, read with doubt. What is wrong is thrown as Rejected, for event_reader.cpp alone.

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "space/run.hpp"

namespace nocturne::measure::event_fields {

/// Carries a sentence from a field to EventReader::consume(), where it becomes data.
struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is longer is nonsense, and sums of it would not fit.
inline constexpr std::chrono::nanoseconds kYear = std::chrono::hours(24 * 365);
/// More than any address space.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

[[nodiscard]] const nlohmann::json& field(const nlohmann::json& event, const char* key);
[[nodiscard]] std::string text(const nlohmann::json& event, const char* key);
[[nodiscard]] std::int64_t integer(const nlohmann::json& event, const char* key, std::int64_t least,
                                   std::int64_t most = std::numeric_limits<std::int64_t>::max());
[[nodiscard]] double real(const nlohmann::json& event, const char* key);
/// Less than a year.
[[nodiscard]] std::chrono::nanoseconds seconds(const nlohmann::json& event, const char* key);
/// Nothing where it is absent, null, or a word for what is not finite ("nan", "inf", "-inf"); `finite` tells the last.
[[nodiscard]] std::optional<double> number_or_word(const nlohmann::json& event, const char* key, bool& finite);
[[nodiscard]] std::optional<double> loss(const nlohmann::json& event, bool& finite);
[[nodiscard]] std::optional<double> real_or_nothing(const nlohmann::json& object, const char* key);
[[nodiscard]] space::ReadingRange reading_range(const nlohmann::json& event, const char* key);

}  // namespace nocturne::measure::event_fields
