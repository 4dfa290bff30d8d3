#pragma once

/// The machine as results refer to it: fields that must match, that are verified, that only explain; and the facts that
/// expressions of a campaign may use. Pure: probe_machine() does the reading.

#include <string>
#include <vector>

#include "measure/machine/machine.hpp"
#include "space/facts.hpp"
#include "space/fingerprint.hpp"

namespace nocturne::measure {

/// Which field matches how is one visible table in fingerprint.cpp. Must: what changes step times for certain (CPU
/// model, ISA, cores, allowed CPUs, quota, memory, caches, oneDNN, GPU and its driver). Verify: what may (kernel,
/// microcode, governor, boost, huge pages, memory limit, libc, libgomp, hypervisor).
/// Ignore: the rest (host name, container, allocators, and compilers: they are part of each build's key).
[[nodiscard]] space::Fingerprint fingerprint_of(const MachineFacts& facts);

/// `known` with its cheap fields replaced by what probe_machine_cheaply() says now.
[[nodiscard]] space::Fingerprint with_cheap_fields(const space::Fingerprint& known, const MachineFacts& now);

/// "8 fast, 16 slower": of MachineFacts::cores_by_kind.
[[nodiscard]] std::string kinds_text(const std::vector<int>& cores_by_kind);

/// machine.cores (physical ones this process may use), machine.fast_cores (those of the fastest kind among them: all
/// where cores are alike), machine.threads (logical, likewise), machine.sockets,
/// machine.numa_nodes, machine.memory_bytes (usable), machine.isa, machine.compilers (names),
/// machine.can_build (our worker for the CPU: a compiler and its headers are there), machine.allocators,
/// machine.cpu_model, machine.l2_bytes, machine.l3_bytes, machine.virtual, machine.gpus (count), machine.huge_pages.
/// machine.frameworks and machine.containers, which take asking, are added where a campaign names them.
[[nodiscard]] space::Facts facts_of(const MachineFacts& facts);

}  // namespace nocturne::measure
