#pragma once

/// Files of others, read whole and without trust: limits on size and depth, errors that name the place.

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nocturne::search::replay {

/// The largest file, unpacked. Published spaces have tens of megabytes; what unpacks to more is a bomb.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 30U;
/// Nested brackets of a JSON file. Published ones have six.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// The contents of a file, unpacked where it is gzip. Error: "FILE: it ends in the middle of its gzip data".
[[nodiscard]] std::expected<std::string, std::string> read_text(const std::filesystem::path& file,
                                                                std::size_t most = kMaxBytes);

/// Error: "FILE:LINE:COLUMN: what was found there".
[[nodiscard]] std::expected<nlohmann::json, std::string> parse_json(std::string_view text,
                                                                    const std::filesystem::path& file);

/// "LINE:COLUMN" of a byte of a text, both from 1.
[[nodiscard]] std::string place_in(std::string_view text, std::size_t offset);

/// A field of CSV (RFC 4180), in quotes where it needs them.
[[nodiscard]] std::string csv_field(const std::string& text);

/// At most `most` bytes of foreign text for an error message: control characters replaced, the rest "…".
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t most = 60);

}  // namespace nocturne::search::replay
