#pragma once

/// Where the parts of Nocturne lie that are used at run time: sources of workers, data sets, oneDNN.

#include <filesystem>
#include <optional>
#include <string>

#include "measure/machine/machine.hpp"
#include "space/workload.hpp"

namespace nocturne::tuner {

/// Absolute paths. Nothing is checked here: who uses a path says what is missing.
struct Installation {
  std::filesystem::path source_root;    ///< holds kernels/, measure/protocol/, examples/
  std::filesystem::path json_prefix;    ///< holds include/nlohmann; empty: the system's own
  std::filesystem::path onednn_prefix;  ///< holds include/ and lib/ of oneDNN; empty: the system's own

  /// Where to look at the machine.
  [[nodiscard]] measure::MachineRoots machine_roots() const {
    return {.onednn_prefix = onednn_prefix, .json_prefix = json_prefix};
  }
  /// examples/data/NAME below the source root.
  [[nodiscard]] std::filesystem::path data_set(const std::string& name) const;
  /// Where the workload's data lie: its own folder of images, or examples/data/NAME. Synthetic images need none: the
  /// folder that is always there, so that whoever looks for it finds one.
  [[nodiscard]] std::filesystem::path data_of(const space::Workload& workload) const;
};

/// $NOCTURNE_SOURCE; else ../share/nocturne beside the program's folder, where it is installed; else the checkout this
/// program was built from.
[[nodiscard]] Installation find_installation();

}  // namespace nocturne::tuner
