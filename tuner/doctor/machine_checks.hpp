#pragma once

/// What the processor, the memory, the GPU, the compilers, the libraries and the container runtimes allow. Pure: all
/// from what was probed.

#include <filesystem>
#include <string>
#include <vector>

#include "measure/machine/machine.hpp"
#include "space/run.hpp"
#include "tuner/doctor/finding.hpp"

namespace nocturne::tuner {

[[nodiscard]] Diagnosis check_processor(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_instructions(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_memory(const measure::MachineFacts& facts);
/// `came_along`: the worker onednn is there without being built (installation/own_workers.hpp).
[[nodiscard]] Diagnosis check_compilers(const measure::MachineFacts& facts, bool came_along);
[[nodiscard]] Diagnosis check_headers(const measure::MachineFacts& facts, bool came_along);
[[nodiscard]] Diagnosis check_onednn(const measure::MachineFacts& facts, bool came_along);
[[nodiscard]] Diagnosis check_allocators(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_gpu(const measure::MachineFacts& facts);
/// Governor, boost, hypervisor: what makes the same program take different times.
[[nodiscard]] Diagnosis check_steadiness(const measure::MachineFacts& facts);
[[nodiscard]] Diagnosis check_huge_pages(const measure::MachineFacts& facts);
/// `load`: what happened on the machine during a moment of looking.
[[nodiscard]] Diagnosis check_quiet(const measure::MachineFacts& facts, const space::Load& load);

/// Whether the GPU worker can be used here. `sees_gpu`: the system shows an NVIDIA GPU; `program`: nocturne-cudnn,
/// empty where it was not built.
[[nodiscard]] Diagnosis check_gpu_worker(bool sees_gpu, const std::filesystem::path& program);

/// A runtime as it was met.
struct RuntimeState {
  std::string name;
  std::string version;   ///< empty where it does not answer
  std::string obstacle;  ///< empty: it can run here
  std::string package;   ///< name of Debian's package
};

/// Starts each runtime's program.
[[nodiscard]] std::vector<RuntimeState> probe_runtimes();

/// One finding a runtime. Missing ones are optional, and a package is named only where none works: the first one, which
/// needs neither a daemon nor rights.
[[nodiscard]] std::vector<Diagnosis> check_containers(const std::vector<RuntimeState>& runtimes);

}  // namespace nocturne::tuner
