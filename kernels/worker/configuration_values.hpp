#pragma once

/// Reads single values of a request's configuration (parameter name → value). A key that is absent or null gives the
/// default; a value that cannot be is refused with a sentence that names key, value and what is allowed.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nocturne::worker {

/// Throws Unsupported: "configuration: batch = 0, allowed: a whole number from 1 to 1048576".
[[noreturn]] void refuse_value(const char* key, const nlohmann::json& value, const std::string& allowed);

/// nullptr: absent or null.
[[nodiscard]] const nlohmann::json* find_value(const nlohmann::json& configuration, const char* key);

/// A whole number from `least` to `most`; 64.0 is one too. Throws Unsupported.
[[nodiscard]] std::int64_t read_integer(const nlohmann::json& configuration, const char* key, std::int64_t otherwise,
                                        std::int64_t most, std::int64_t least = 1);
/// Any text; `allowed` is for the sentence. Throws Unsupported.
[[nodiscard]] std::string read_word(const nlohmann::json& configuration, const char* key, const std::string& otherwise,
                                    const std::string& allowed);
/// The position in `choices` of the text that stands there. Throws Unsupported. REQUIRES: `otherwise` < choices.size().
[[nodiscard]] std::size_t read_choice(const nlohmann::json& configuration, const char* key,
                                      const std::vector<std::string>& choices, std::size_t otherwise);
/// Throws Unsupported.
[[nodiscard]] bool read_flag(const nlohmann::json& configuration, const char* key, bool otherwise);

}  // namespace nocturne::worker
