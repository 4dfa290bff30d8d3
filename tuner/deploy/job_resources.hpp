#pragma once

/// What a batch system is asked for, from what was measured.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

struct JobResources {
  std::int64_t threads = 0;                  ///< 0: not known
  std::optional<std::int64_t> memory_mib;    ///< a quarter above the peak, at least 256 MiB above it
  std::optional<std::chrono::minutes> wall;  ///< for the profile's own horizon; empty: there is no forecast
  bool gpu = false;
  bool whole_node = false;  ///< threads are bound to CPUs by number
};

/// The time is the upper end of the forecast's 95 % interval, a minute to start, whole minutes. Of a single run the
/// interval is not known: half as much again.
[[nodiscard]] JobResources job_resources(const Profile& profile);

/// The lines that ask Slurm for them, and name the job after the campaign.
[[nodiscard]] std::string slurm_directives(const Profile& profile, const JobResources& resources);

/// The lines of comments behind the directives: where the numbers come from.
[[nodiscard]] std::string resource_comments(const Profile& profile, const JobResources& resources);

/// The script of export_sh() without its first line.
[[nodiscard]] std::string job_body(const Profile& profile);

}  // namespace nocturne::deploy
