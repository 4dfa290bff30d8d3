#pragma once

/// A folder as one file, and back: for nodes without a network. tar packs (with zstd where it is there, else gzip);
/// what was packed is listed in contents.json with its checksums, and nothing else is accepted.
///
///   ./contents.json   {"nocturne_archive": 1, "files": {"a/b": {"sha256": "…", "bytes": 3}}, "links": {"l": "a/b"}}
///   ./a/b  ./l  …
///
/// The same files give the same archive, byte by byte: neither times nor owners nor absolute paths are in it. Its id is
/// the SHA-256 of contents.json.

#include <expected>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

namespace nocturne::measure {

/// Whether a link at `place` (relative, within the archive) may lead to `target`: relative, inside, going up at its
/// beginning alone, so that no other link can turn it outwards.
[[nodiscard]] bool is_inner_link(const std::filesystem::path& place, const std::filesystem::path& target);

/// Writes contents.json into `folder` and packs all below it. Returns the id. The error is a sentence: a link that
/// leads out, something that is neither file, folder nor link, a disk that is full, tar that is not there.
[[nodiscard]] std::expected<std::string, std::string> pack_folder(const std::filesystem::path& folder,
                                                                  const std::filesystem::path& file,
                                                                  const std::stop_token& stop = {});

/// Unpacks into `folder`, which must be empty, and checks every file. Returns the id. After an error the folder's
/// contents are not to be used.
[[nodiscard]] std::expected<std::string, std::string> unpack_archive(const std::filesystem::path& file,
                                                                     const std::filesystem::path& folder,
                                                                     const std::stop_token& stop = {});

}  // namespace nocturne::measure
