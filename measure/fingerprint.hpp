#pragma once

/// The machine as results refer to it: fields that must match, that are verified, that only explain; and the facts that
/// expressions of a campaign may use. Pure: probe_machine() does the reading.

#include "measure/machine.hpp"
#include "space/facts.hpp"
#include "space/fingerprint.hpp"

namespace nocturne::measure {

/// Which field matches how is one visible table in fingerprint.cpp. Must: what changes step times for certain (CPU
/// model, ISA, cores, allowed CPUs, quota, memory, caches, oneDNN, GPU and its driver). Verify: what may (kernel,
/// microcode, governor, boost, huge pages, libc, libgomp, hypervisor, compilers — these are part of a build's key too).
/// Ignore: the rest (host name, container, allocators).
[[nodiscard]] space::Fingerprint fingerprint_of(const MachineFacts& facts);

/// `known` with its cheap fields replaced by what probe_machine_cheaply() says now.
[[nodiscard]] space::Fingerprint with_cheap_fields(const space::Fingerprint& known, const MachineFacts& now);

/// machine.cores (usable: allowed and granted), machine.threads, machine.sockets, machine.numa_nodes,
/// machine.memory_bytes (usable), machine.isa, machine.compilers (names), machine.allocators, machine.cpu_model,
/// machine.l2_bytes, machine.l3_bytes, machine.virtual, machine.gpus (count), machine.huge_pages.
[[nodiscard]] space::Facts facts_of(const MachineFacts& facts);

}  // namespace nocturne::measure
