#pragma once

/// Files read whole. A stream's iterators throw where a read fails, for example from the folder of a process in /proc
/// that ends between open and read; here that is a file that cannot be read, like one that is not there.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace nocturne::space {

/// The bytes of a file, at most the first `most`. Empty: it cannot be opened, or not be read to its end (a folder, a
/// damaged disk). Works for the files of /proc and /sys, whose size reads as 0. A pipe that nobody writes to is
/// empty: nobody is waited for. Throws std::bad_alloc only.
[[nodiscard]] std::optional<std::string> read_file(const std::filesystem::path& file,
                                                   std::size_t most = std::numeric_limits<std::size_t>::max());

/// Hands the bytes on in pieces of at most 64 KiB; whether the end was reached.
[[nodiscard]] bool read_file_in_pieces(const std::filesystem::path& file,
                                       const std::function<void(std::string_view)>& take);

/// sha256() of a file of any size. Empty: it cannot be read.
[[nodiscard]] std::optional<std::string> sha256_of_file(const std::filesystem::path& file);

}  // namespace nocturne::space
