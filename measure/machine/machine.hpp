#pragma once

/// What this machine is: read from /proc, /sys, hwloc, the compilers and the loader. Reads only; never fails: what
/// cannot be read is empty.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/topology/topology.hpp"

namespace nocturne::measure {

struct Compiler {
  std::string name;  ///< as found on PATH: g++, clang++-19
  std::string path;
  std::string version;  ///< first line of --version
  friend bool operator==(const Compiler&, const Compiler&) = default;
};

/// A header that our worker for the CPU is built with.
struct MissingHeader {
  std::string name;     ///< as it is included
  std::string package;  ///< of Debian
  friend bool operator==(const MissingHeader&, const MissingHeader&) = default;
};

struct MachineFacts {
  // Processor
  std::string cpu_model;
  int cpu_family = 0, cpu_model_number = 0, cpu_stepping = 0;
  std::string microcode;
  std::vector<std::string> isa;  ///< sorted: avx2, avx512_bf16, avx512f, amx_bf16, …; the kernel's names
  int sockets = 0, cores = 0, threads = 0;
  /// Where there are several: cores of each kind, fastest first, {8, 16} of a machine with 8 performance cores.
  std::vector<int> cores_by_kind;
  std::vector<int> allowed_cpus;    ///< affinity of this process
  int allowed_cores = 0;            ///< physical cores among them
  int allowed_fast_cores = 0;       ///< those of the fastest kind among these
  std::optional<double> cpu_quota;  ///< CPUs the cgroup grants, 1.5 say
  std::vector<Cache> caches;
  int numa_nodes = 0;
  std::string governor;  ///< governor of cpu0; empty in most virtual machines
  std::optional<bool> boost;
  // Memory
  std::int64_t memory_bytes = 0;                   ///< memory of the machine
  std::optional<std::int64_t> memory_limit_bytes;  ///< limit of the cgroup
  std::string transparent_huge_pages;              ///< always, madvise, never
  // Software
  std::string kernel, libc, hypervisor, container, onednn, libgomp;  ///< hypervisor, container: empty where none
  std::vector<Compiler> compilers;
  std::vector<MissingHeader> missing_headers;  ///< that the first compiler does not find
  std::vector<std::string> allocators;         ///< usable values of the parameter `allocator`
  // Accelerators
  std::vector<std::string> gpus;  ///< that this process may use, where CUDA_VISIBLE_DEVICES says which
  std::string gpu_driver;
  std::string hostname;  ///< of a part of a machine "HOST/PART"
  std::string part;      ///< this process is in that part of the machine alone (machine_part.hpp); empty: in none

  /// Physical cores that work may really use: allowed, cut by the quota, at least 1.
  [[nodiscard]] int usable_cores() const;
  /// Those of the fastest kind: all of them where cores are alike.
  [[nodiscard]] int usable_fast_cores() const;
  /// A compiler, and all that it needs for our worker for the CPU.
  [[nodiscard]] bool can_build() const { return !compilers.empty() && missing_headers.empty() && !onednn.empty(); }
  /// Logical CPUs that work may really use.
  [[nodiscard]] int usable_threads() const;
  /// Memory that work may really use.
  [[nodiscard]] std::int64_t usable_memory_bytes() const;
};

/// Where to look. Tests lay out their own tree.
struct MachineRoots {
  std::filesystem::path root = "/";     ///< folder that holds proc/, sys/, etc/
  std::filesystem::path onednn_prefix;  ///< prefix of the oneDNN that workers are built with; empty: the system's
  std::filesystem::path json_prefix{};  ///< likewise of nlohmann-json
  bool probe_programs = true;           ///< false: do not start compilers; compilers and onednn stay empty
  TopologySource topology{};            ///< with another root than "/", cores and caches are empty without one
};

[[nodiscard]] MachineFacts probe_machine(const MachineRoots& roots = {});

/// The cheap part, read again before every run: microcode, isa, cores and caches, kernel, governor, boost, huge pages,
/// allowed CPUs, quota, memory limit, GPU driver. Starts no program.
[[nodiscard]] MachineFacts probe_machine_cheaply(const MachineRoots& roots = {});

/// Whether the named feature of the kernel's list is there.
[[nodiscard]] bool has_isa(const MachineFacts& facts, std::string_view name);

}  // namespace nocturne::measure
