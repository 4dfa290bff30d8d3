#pragma once

/// What lies around on this machine: data, database, programs, disk, the slot. Reads files; changes nothing, but holds
/// the slot for a moment.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/doctor/finding.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

/// Reads SHA256SUMS in `folder` and every file it names.
[[nodiscard]] Diagnosis check_data(const std::filesystem::path& folder);
/// `source_root` holds kernels/: what the workers are built from.
[[nodiscard]] Diagnosis check_sources(const std::filesystem::path& source_root);
/// `program`: empty where the supervisor was not found.
[[nodiscard]] Diagnosis check_supervisor(const std::filesystem::path& program);
/// Whether the database can be read and written; where there is none yet, whether one can be made.
[[nodiscard]] Diagnosis check_database(const std::filesystem::path& file);
/// Room for builds and run folders.
[[nodiscard]] Diagnosis check_disk(const std::filesystem::path& folder);
/// `folder`: of the lock files; empty: the machine's own.
[[nodiscard]] Diagnosis check_slot(const std::filesystem::path& folder = {});
/// Which frameworks campaigns can have here, and why not the others. Asks every Python of the machine.
[[nodiscard]] Diagnosis check_frameworks(const Frameworks& frameworks);

}  // namespace nocturne::tuner
