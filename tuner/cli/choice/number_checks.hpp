#pragma once

/// What an option that takes a number, a duration or a size accepts; the error names what was given and what is
/// allowed. Pure.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace nocturne::cli {

/// For CLI::Option::check: empty where the text is fine, else why not.
using NumberCheck = std::function<std::string(const std::string&)>;

/// Decimal digits, with a sign where that is allowed.
[[nodiscard]] NumberCheck whole_number(std::int64_t least,
                                       std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// Finite and above 0.
[[nodiscard]] NumberCheck positive_number();
/// Finite, both ends included.
[[nodiscard]] NumberCheck number_within(double least, double most);
/// As campaign files have them (tuner/campaign_file/quantity.hpp): "1h30min", "8GiB", "07:00".
[[nodiscard]] NumberCheck time_span();
[[nodiscard]] NumberCheck byte_size();
[[nodiscard]] NumberCheck time_of_day();

}  // namespace nocturne::cli
