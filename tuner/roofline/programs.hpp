#pragma once

/// The programs that say what a machine can do and what a network takes: nocturne-machine, nocturne-cudnn and
/// nocturne-onednn, built beside nocturne. They are started directly, never through a shell.

#include <expected>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/run/slot.hpp"

namespace nocturne::tuner {

/// Beside the running program, or in `folder` where that is given. Empty: not there, or not to be executed.
[[nodiscard]] std::filesystem::path program_beside(std::string_view name, const std::filesystem::path& folder = {});

struct MachineMeasuring {
  std::vector<int> cpus;                ///< cores of the slot that is held meanwhile: those this process may use
  double seconds = 20;                  ///< for all measurements of the CPU, the memory and the disk
  std::filesystem::path disk{};         ///< a folder on the disk to measure; empty: none is
  std::vector<std::string> only{};      ///< names of the figures to measure, of the CPU and the memory; empty: all
  std::filesystem::path programs{};     ///< where the programs lie; empty: beside this one (own_workers.hpp)
  std::filesystem::path slot_folder{};  ///< where the lock files lie; empty: the machine's folder
  /// Another process measures: called at once, and as that changes.
  std::function<void(const measure::SlotHolder&)> waiting{};
  std::function<void(const std::string&)> note{};  ///< a sentence: what could not be measured
};

/// Waits for the machine, then measures it alone: what nocturne-machine prints, and in `gpus` what nocturne-cudnn
/// --machine says of GPUs (not with `only`). Where that program cannot measure one, or is not there although the system
/// shows one, `note` is told why. The error is a sentence.
[[nodiscard]] std::expected<nlohmann::json, std::string> measure_machine(const MachineMeasuring& measuring,
                                                                         const std::stop_token& stop = {});

/// What `nocturne-onednn --describe` says of a network. The error is a sentence; a name that is none (letters, digits,
/// '_', '-' and '.', not '-' or '.' first) is refused.
[[nodiscard]] std::expected<nlohmann::json, std::string> describe_network(const std::string& network,
                                                                          const std::filesystem::path& programs = {});

}  // namespace nocturne::tuner
