#pragma once

/// `nocturne init`: a campaign file for this machine and what is installed on it, with a comment for each line that a
/// newcomer may want to change. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace nocturne::tuner {

/// What was found.
struct FoundHere {
  std::string file;       ///< that it is written to, for the commands in its comments
  std::string cpu_model;  ///< may be empty
  int cores = 1;
  int fast_cores = 0;  ///< of these, where some are slower; 0: all alike
  std::int64_t memory_bytes = 0;
  bool has_bf16 = false;  ///< instructions for it
  bool has_avx512 = false;
  std::vector<std::string> compilers;   ///< as commands: g++, clang++-19; none where the worker cannot be built
  std::vector<std::string> allocators;  ///< usable values of `allocator`
  /// Values of these two that differ here (measure::distinct_affinities).
  std::vector<std::string> affinities = {"none", "close", "spread"};
  std::vector<std::string> memory_policies{};
  std::vector<std::string> frameworks;  ///< that train here without an installation, ours first; not empty
  std::vector<std::string> more;        ///< that could be installed
};

[[nodiscard]] std::string first_campaign(const FoundHere& found);

}  // namespace nocturne::tuner
