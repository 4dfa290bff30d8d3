#pragma once

/// `extends`: one campaign file laid over another.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {

inline constexpr std::size_t kLongestChain = 8;  ///< files that extend each other, the first included

/// Reads `path` and every file it extends, directly or through another, and merges them; `extends` is gone from the
/// result, and each place names the file it came from. Problems of all files that could be read are reported together.
[[nodiscard]] std::expected<Document, std::vector<Problem>> read_with_bases(const std::filesystem::path& path);

/// The same for a text that is already read; `folder` is where its `extends` begins.
[[nodiscard]] std::expected<Document, std::vector<Problem>> read_text_with_bases(std::string_view text,
                                                                                 const std::string& name,
                                                                                 const std::filesystem::path& folder);

/// Lays `over` on `base`. Objects merge key by key, and null removes a key; arrays and scalars replace; the elements of
/// /space/parameters merge by their `name`, those of `base` first, new ones behind. A parameter that gives `type`,
/// `values` or `range` drops the whole domain (type, values, range, step, scale) that `base` gave it.
[[nodiscard]] Document merge_documents(const Document& base, const Document& over);

}  // namespace nocturne::tuner
