#pragma once

/// Whether a program that failed did so for want of room. It may have had none to say so, either.

#include <filesystem>

namespace nocturne::measure {

/// Less than 1 MiB is free on the disk of this folder. False where that cannot be asked.
[[nodiscard]] bool is_nearly_full(const std::filesystem::path& folder);

}  // namespace nocturne::measure
