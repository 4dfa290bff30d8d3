#pragma once

/// Bandwidth of the disk below a folder: one file is written in sequence and brought to the disk, then read back.
///
/// Past the page cache (O_DIRECT) where the file system can; elsewhere what is read was dropped from the cache before,
/// as far as the system follows that wish. The file has no name from the beginning, so nothing is left behind however
/// this ends.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <vector>

#include "kernels/machine/measurement.hpp"

namespace nocturne::machine {

/// Written at most, and read back.
inline constexpr std::size_t kDiskBytes = std::size_t{256} << 20;

/// disk_write (with its fsync) and disk_read, GB/s, three times each; both end early where that would take longer than
/// `budget` together. `bytes` is rounded up to whole blocks of 4 MiB. Where the folder cannot be written, or has less
/// than four times as much room, both are absent and say why.
[[nodiscard]] std::vector<Measurement> measure_disk(const std::filesystem::path& folder,
                                                    std::chrono::duration<double> budget,
                                                    std::size_t bytes = kDiskBytes);

}  // namespace nocturne::machine
