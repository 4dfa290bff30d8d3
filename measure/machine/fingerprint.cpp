#include "measure/machine/fingerprint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "measure/machine/machine_part.hpp"

namespace nocturne::measure {
namespace {

using space::Match;

constexpr bool kCheap = true;  // read by probe_machine_cheaply()
constexpr bool kOnce = false;

struct FieldRule {
  std::string_view name;
  Match match;
  bool cheap;
  std::string (*value)(const MachineFacts&);
};

std::string caches_text(const MachineFacts& facts) {
  std::vector<std::string> parts;
  for (const Cache& cache : facts.caches) {
    parts.push_back(fmt::format("L{}{} {}x{}K", cache.level, cache.type == "Unified" ? "" : cache.type.substr(0, 1),
                                cache.count, cache.bytes >> 10));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The kinds of core are named where there are several, so that other machines keep the text they had.
std::string topology_text(const MachineFacts& facts) {
  return fmt::format("{} sockets, {} cores{}, {} threads", facts.sockets, facts.cores,
                     facts.cores_by_kind.empty() ? "" : " (" + kinds_text(facts.cores_by_kind) + ")", facts.threads);
}

/// Parts of a machine are of one class, though each has other CPUs.
std::string allowed_text(const MachineFacts& facts) {
  if (facts.part.empty()) return fmt::format("{}", fmt::join(facts.allowed_cpus, ","));
  const auto kind = kind_of_part(facts.part);
  return fmt::format("{} CPUs on {} cores for each {}", facts.allowed_cpus.size(), facts.allowed_cores,
                     kind ? to_text(*kind) : facts.part);
}

std::string compilers_text(const MachineFacts& facts) {
  std::vector<std::string> parts;
  for (const Compiler& compiler : facts.compilers) parts.push_back(compiler.name + ": " + compiler.version);
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// In half GiB: what the kernel keeps for itself differs from one version to the next.
std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 29;
  const std::int64_t halves = (bytes + kHalf / 2) / kHalf;
  return fmt::format("{:.1f} GiB", static_cast<double>(halves) / 2);
}

/// The table: what each field is, what a difference means, and whether it is read again before every run.
constexpr std::array kFields = {
    FieldRule{"cpu.model", Match::Must, kCheap, [](const MachineFacts& f) { return f.cpu_model; }},
    FieldRule{"cpu.signature", Match::Must, kCheap,
              [](const MachineFacts& f) {
                return fmt::format("family {} model {} stepping {}", f.cpu_family, f.cpu_model_number, f.cpu_stepping);
              }},
    FieldRule{"cpu.microcode", Match::Verify, kCheap, [](const MachineFacts& f) { return f.microcode; }},
    FieldRule{"cpu.isa", Match::Must, kCheap,
              [](const MachineFacts& f) { return fmt::format("{}", fmt::join(f.isa, " ")); }},
    FieldRule{"cpu.topology", Match::Must, kCheap, topology_text},
    FieldRule{"cpu.allowed", Match::Must, kCheap, allowed_text},
    FieldRule{"cpu.quota", Match::Must, kCheap,
              [](const MachineFacts& f) { return f.cpu_quota ? fmt::format("{:.2f}", *f.cpu_quota) : "none"; }},
    FieldRule{"cpu.caches", Match::Must, kOnce, caches_text},
    FieldRule{"cpu.numa_nodes", Match::Must, kOnce, [](const MachineFacts& f) { return std::to_string(f.numa_nodes); }},
    FieldRule{"cpu.governor", Match::Verify, kCheap, [](const MachineFacts& f) { return f.governor; }},
    FieldRule{"cpu.boost", Match::Verify, kCheap,
              [](const MachineFacts& f) -> std::string { return !f.boost   ? ""
                                                                : *f.boost ? "on"
                                                                           : "off"; }},
    FieldRule{"memory", Match::Must, kCheap, [](const MachineFacts& f) { return memory_text(f.memory_bytes); }},
    FieldRule{"memory.limit", Match::Verify, kCheap,
              [](const MachineFacts& f) -> std::string {
                return f.memory_limit_bytes ? memory_text(*f.memory_limit_bytes) : "none";
              }},
    FieldRule{"memory.huge_pages", Match::Verify, kCheap,
              [](const MachineFacts& f) { return f.transparent_huge_pages; }},
    FieldRule{"system.kernel", Match::Verify, kCheap, [](const MachineFacts& f) { return f.kernel; }},
    FieldRule{"system.hypervisor", Match::Verify, kCheap, [](const MachineFacts& f) { return f.hypervisor; }},
    FieldRule{"system.container", Match::Ignore, kCheap, [](const MachineFacts& f) { return f.container; }},
    FieldRule{"system.host", Match::Ignore, kCheap, [](const MachineFacts& f) { return f.hostname; }},
    FieldRule{"software.libc", Match::Verify, kOnce, [](const MachineFacts& f) { return f.libc; }},
    FieldRule{"software.onednn", Match::Must, kOnce, [](const MachineFacts& f) { return f.onednn; }},
    FieldRule{"software.libgomp", Match::Verify, kOnce, [](const MachineFacts& f) { return f.libgomp; }},
    FieldRule{"software.compilers", Match::Ignore, kOnce, compilers_text},
    FieldRule{"software.allocators", Match::Ignore, kOnce,
              [](const MachineFacts& f) { return fmt::format("{}", fmt::join(f.allocators, " ")); }},
    FieldRule{"gpu.models", Match::Must, kCheap,
              [](const MachineFacts& f) { return fmt::format("{}", fmt::join(f.gpus, "; ")); }},
    FieldRule{"gpu.driver", Match::Must, kCheap, [](const MachineFacts& f) { return f.gpu_driver; }},
};

void set_field(space::Fingerprint& fingerprint, const FieldRule& rule, const MachineFacts& facts) {
  fingerprint.set(
      {.name = std::string(rule.name), .value = rule.value(facts), .match = rule.match, .cheap = rule.cheap});
}

std::int64_t largest_cache(const MachineFacts& facts, int level) {
  std::int64_t bytes = 0;
  for (const Cache& cache : facts.caches)
    if (cache.level == level) bytes = std::max(bytes, cache.bytes);
  return bytes;
}

}  // namespace

std::string kinds_text(const std::vector<int>& cores_by_kind) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cores_by_kind.size(); ++i) {
    const bool last = i + 1 == cores_by_kind.size();
    parts.push_back(fmt::format("{} {}", cores_by_kind[i], i == 0 ? "fast" : i > 1 && last ? "slowest" : "slower"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

space::Fingerprint fingerprint_of(const MachineFacts& facts) {
  space::Fingerprint fingerprint;
  for (const FieldRule& rule : kFields) set_field(fingerprint, rule, facts);
  return fingerprint;
}

space::Fingerprint with_cheap_fields(const space::Fingerprint& known, const MachineFacts& now) {
  space::Fingerprint fingerprint = known;
  for (const FieldRule& rule : kFields)
    if (rule.cheap) set_field(fingerprint, rule, now);
  return fingerprint;
}

space::Facts facts_of(const MachineFacts& facts) {
  std::vector<std::string> compilers;
  for (const Compiler& compiler : facts.compilers) compilers.push_back(compiler.name);
  space::Facts result;
  result.set("machine.cores", std::int64_t{facts.usable_cores()});
  result.set("machine.fast_cores", std::int64_t{facts.usable_fast_cores()});
  result.set("machine.threads", std::int64_t{facts.usable_threads()});
  result.set("machine.sockets", std::int64_t{facts.sockets});
  result.set("machine.numa_nodes", std::int64_t{facts.numa_nodes});
  result.set("machine.memory_bytes", facts.usable_memory_bytes());
  result.set("machine.isa", facts.isa);
  result.set("machine.compilers", std::move(compilers));
  result.set("machine.can_build", facts.can_build());
  result.set("machine.allocators", facts.allocators);
  result.set("machine.cpu_model", facts.cpu_model);
  result.set("machine.l2_bytes", largest_cache(facts, 2));
  result.set("machine.l3_bytes", largest_cache(facts, 3));
  result.set("machine.virtual", !facts.hypervisor.empty());
  result.set("machine.gpus", static_cast<std::int64_t>(facts.gpus.size()));
  result.set("machine.huge_pages", facts.transparent_huge_pages);
  return result;
}

}  // namespace nocturne::measure
