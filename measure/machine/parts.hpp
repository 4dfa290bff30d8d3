#pragma once

/// The pieces of probe_machine(), each from its own corner of /proc and /sys below `root`.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/machine/machine.hpp"

namespace nocturne::measure {

/// First line of a file without white space at its ends; empty where it cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);
/// The whole file; empty where it cannot be read.
[[nodiscard]] std::string whole_text(const std::filesystem::path& file);
/// The value behind "Name:" in a text of such lines; empty: there is none.
[[nodiscard]] std::string field(const std::string& text, std::string_view name);
/// "0-2,5" → 0 1 2 5. What is not a list of CPUs gives what could be read of it.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

void read_processor(const std::filesystem::path& root, MachineFacts& facts);  ///< model, stepping, microcode, ISA
void read_limits(const std::filesystem::path& root,
                 MachineFacts& facts);  ///< allowed CPUs, quota, memory and its limit
/// Counts of CPUs, cores, caches and memory nodes; after read_limits(), for the cores that are allowed.
void read_places(const MachineRoots& roots, MachineFacts& facts);
void read_system(const std::filesystem::path& root, MachineFacts& facts);  ///< kernel, governor, pages, container, …
void read_accelerators(const std::filesystem::path& root, MachineFacts& facts);
void read_software(const MachineRoots& roots, MachineFacts& facts);  ///< compilers, libraries, allocators

}  // namespace nocturne::measure
