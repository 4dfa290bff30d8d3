#include "tuner/doctor/machine_checks.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/parallel.hpp"
#include "measure/comparison/disturbance.hpp"
#include "measure/container/container.hpp"
#include "measure/machine/fingerprint.hpp"

namespace nocturne::tuner {
namespace {

constexpr double kLeastMemory = 1.0;  // GiB: the MNIST network at batch 512 and the tuner itself
constexpr double kRoomyMemory = 4.0;  // GiB: every configuration of the first example
constexpr double kQuietPressure = 0.05;

constexpr const char* kAsItCame =
    "campaigns run with the worker onednn that came along; how it is built (compiler, optimisation, march, lto, "
    "fast_math) cannot vary";

bool has_compiler(const measure::MachineFacts& facts, std::string_view name) {
  return std::ranges::any_of(facts.compilers, [&](const measure::Compiler& each) { return each.name == name; });
}

}  // namespace

Diagnosis check_processor(const measure::MachineFacts& facts) {
  const int usable = facts.usable_cores();
  Diagnosis finding{
      .subject = "processor",
      .found = fmt::format("{}, {} of {} cores usable", facts.cpu_model.empty() ? "unknown model" : facts.cpu_model,
                           usable, facts.cores)};
  if (!facts.cores_by_kind.empty()) finding.found += fmt::format(" ({})", measure::kinds_text(facts.cores_by_kind));
  if (facts.numa_nodes > 1) finding.found += fmt::format(", {} memory nodes", facts.numa_nodes);
  if (facts.cpu_quota) {
    finding.health = Health::Note;
    finding.meaning = fmt::format("a quota grants {:g} CPUs: threads beyond it are stopped in turns, and times vary",
                                  *facts.cpu_quota);
  } else if (usable < facts.cores) {
    finding.meaning = "the affinity of this process leaves out the others";
  }
  return finding;
}

Diagnosis check_instructions(const measure::MachineFacts& facts) {
  std::vector<std::string_view> found;
  constexpr std::array<std::string_view, 8> kInteresting = {"sse4_1",      "avx2",        "avx512f",  "avx512_vnni",
                                                            "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8"};
  for (const std::string_view name : kInteresting)
    if (measure::has_isa(facts, name)) found.push_back(name);
  Diagnosis finding{.subject = "instructions", .found = fmt::format("{}", fmt::join(found, ", "))};
  if (!measure::has_isa(facts, "sse4_1")) {
    finding.health = Health::Bad;
    finding.found = "no SSE4.1";
    finding.meaning = "oneDNN has only reference code for this processor";
  } else if (!measure::has_isa(facts, "avx2")) {
    finding.health = Health::Note;
    finding.meaning = "without AVX2 training is many times slower than on newer processors";
  } else if (measure::has_isa(facts, "avx512_bf16") || measure::has_isa(facts, "amx_bf16")) {
    finding.meaning = "f32 and bf16 run natively";
  } else {
    finding.health = Health::Note;
    finding.meaning = "f32 runs natively; bf16 would be emulated, several times slower";
  }
  return finding;
}

Diagnosis check_memory(const measure::MachineFacts& facts) {
  const double usable = gibibytes(static_cast<std::uint64_t>(facts.usable_memory_bytes()));
  Diagnosis finding{.subject = "memory", .found = fmt::format("{:.1f} GiB usable", usable)};
  if (facts.memory_limit_bytes) finding.found += " (limited by a control group)";
  if (usable < kLeastMemory) {
    finding.health = Health::Bad;
    finding.meaning = fmt::format("a run needs about {:g} GiB", kLeastMemory);
  } else if (usable < kRoomyMemory) {
    finding.health = Health::Note;
    finding.meaning = "large batches may end as out_of_memory";
  }
  return finding;
}

Diagnosis check_compilers(const measure::MachineFacts& facts, bool came_along) {
  std::vector<std::string> names;
  for (const measure::Compiler& compiler : facts.compilers) names.push_back(compiler.name);
  Diagnosis finding{.subject = "compilers", .found = fmt::format("{}", fmt::join(names, ", "))};
  if (names.empty()) {
    return {.subject = "compilers",
            .health = came_along ? Health::Optional : Health::Bad,
            .found = "none",
            .meaning = came_along ? kAsItCame : "workers are built from source, once for each set of flags",
            .packages = {"g++"}};
  }
  if (!has_compiler(facts, "g++")) {
    finding.health = came_along ? Health::Optional : Health::Bad;
    finding.meaning = "g++ is the default of the examples";
    if (came_along) finding.meaning += ": the worker that came along stands for it";
    finding.packages = {"g++"};
  } else if (std::ranges::none_of(names, [](const std::string& name) { return name.starts_with("clang++"); })) {
    finding.health = Health::Optional;
    finding.meaning = "configurations with clang cannot be tried";
    finding.packages = {"clang-19"};
  }
  return finding;
}

Diagnosis check_headers(const measure::MachineFacts& facts, bool came_along) {
  if (facts.compilers.empty())
    return {.subject = "headers", .health = Health::Note, .found = "not looked for, as there is no compiler"};
  if (facts.missing_headers.empty()) return {.subject = "headers", .found = "all that the worker onednn is built with"};
  std::vector<std::string> names;
  Diagnosis finding{.subject = "headers", .health = came_along ? Health::Optional : Health::Bad};
  for (const measure::MissingHeader& header : facts.missing_headers) {
    names.push_back(header.name);
    finding.packages.push_back(header.package);
  }
  finding.found = fmt::format("missing: {}", fmt::join(names, ", "));
  finding.meaning = came_along ? kAsItCame : "the worker onednn cannot be built";
  return finding;
}

Diagnosis check_onednn(const measure::MachineFacts& facts, bool came_along) {
  if (!facts.onednn.empty()) return {.subject = "oneDNN", .found = facts.onednn};
  if (came_along) return {.subject = "oneDNN", .health = Health::Optional, .found = "no headers", .meaning = kAsItCame};
  return {.subject = "oneDNN",
          .health = Health::Bad,
          .found = "not found",
          .meaning = "the worker onednn cannot be built; ./quickstart --setup-only fetches it (54 MiB)"};
}

Diagnosis check_allocators(const measure::MachineFacts& facts) {
  Diagnosis finding{.subject = "allocators", .found = fmt::format("{}", fmt::join(facts.allocators, ", "))};
  constexpr std::array kPackages = {std::pair{"jemalloc", "libjemalloc2"},
                                    std::pair{"tcmalloc", "libtcmalloc-minimal4"}};
  for (const auto& [name, package] : kPackages) {
    if (std::ranges::find(facts.allocators, name) != facts.allocators.end()) continue;
    finding.health = Health::Optional;
    finding.packages.emplace_back(package);
    finding.meaning += fmt::format("{}{}", finding.meaning.empty() ? "cannot be tried: " : ", ", name);
  }
  return finding;
}

Diagnosis check_gpu(const measure::MachineFacts& facts) {
  if (facts.gpus.empty())
    return {.subject = "GPU", .health = Health::Note, .found = "none", .meaning = "workers for the CPU run"};
  Diagnosis finding{.subject = "GPU", .found = fmt::format("{}", fmt::join(facts.gpus, ", "))};
  if (facts.gpu_driver.empty()) {
    finding.health = Health::Note;
    finding.meaning = "no driver answers: it cannot be used";
  } else {
    finding.found += ", driver " + facts.gpu_driver;
  }
  return finding;
}

Diagnosis check_steadiness(const measure::MachineFacts& facts) {
  Diagnosis finding{.subject = "clock"};
  finding.found = facts.governor.empty() ? "no governor to be seen" : "governor " + facts.governor;
  if (facts.boost) finding.found += *facts.boost ? ", boost on" : ", boost off";
  if (!facts.hypervisor.empty()) finding.found += ", virtual machine (" + facts.hypervisor + ")";
  if (!facts.container.empty()) finding.found += ", container (" + facts.container + ")";
  if (!facts.governor.empty() && facts.governor != "performance") {
    finding.health = Health::Note;
    finding.meaning = "clocks follow the load: first steps are slower (cpupower frequency-set -g performance)";
  } else if (!facts.hypervisor.empty()) {
    finding.health = Health::Note;
    finding.meaning = "neighbours on the host are invisible: what is compared closely is measured in turns";
  }
  return finding;
}

Diagnosis check_huge_pages(const measure::MachineFacts& facts) {
  Diagnosis finding{.subject = "huge pages", .found = facts.transparent_huge_pages};
  if (facts.transparent_huge_pages.empty()) {
    return {.subject = "huge pages",
            .health = Health::Note,
            .found = "not offered by this kernel",
            .meaning = "the parameter huge_pages has no effect"};
  }
  if (facts.transparent_huge_pages == "never") {
    finding.health = Health::Note;
    finding.meaning = "the parameter huge_pages has no effect (/sys/kernel/mm/transparent_hugepage/enabled)";
  } else if (facts.transparent_huge_pages == "always") {
    finding.meaning = "programs get them unasked; the parameter huge_pages changes little";
  }
  return finding;
}

Diagnosis check_quiet(const measure::MachineFacts& facts, const space::Load& load) {
  Diagnosis finding{.subject = "quiet"};
  std::vector<std::string> seen;
  if (load.loadavg_after) seen.push_back(fmt::format("load average {:.2f}", *load.loadavg_after));
  if (load.other_cpu) seen.push_back(fmt::format("other processes {:.0f} %", 100 * *load.other_cpu));
  if (load.steal) seen.push_back(fmt::format("steal {:.1f} %", 100 * *load.steal));
  if (load.cpu_pressure) seen.push_back(fmt::format("CPU pressure {:.0f} %", 100 * *load.cpu_pressure));
  finding.found = seen.empty() ? "the kernel does not tell" : fmt::format("{}", fmt::join(seen, ", "));
  // The average looks back a minute; half a core's worth of work is felt by a trainer that uses all of them.
  const bool averaged = load.loadavg_after.value_or(0) > 0.5 * std::max(1, facts.usable_cores());
  if (averaged || load.other_cpu.value_or(0) > measure::kQuietOthers || load.steal.value_or(0) > measure::kQuietSteal ||
      load.cpu_pressure.value_or(0) > kQuietPressure) {
    finding.health = Health::Note;
    finding.meaning = "something else computes: training on all cores can take several times as long meanwhile";
  }
  return finding;
}

Diagnosis check_gpu_worker(bool sees_gpu, const std::filesystem::path& program) {
  Diagnosis finding{.subject = "GPU worker", .found = program.string()};
  if (program.empty()) {
    finding.found = "nocturne-cudnn is not built";
    finding.health = sees_gpu ? Health::Optional : Health::Note;
    finding.meaning = sees_gpu
                          ? "framework cudnn cannot be tried; ./quickstart --cuda --setup-only gets nvcc and cuDNN "
                            "and builds it"
                          : "there is no GPU for it either";
  } else if (!sees_gpu) {
    finding.health = Health::Note;
    finding.meaning = "it answers 'unsupported': the system shows no NVIDIA GPU";
  }
  return finding;
}

std::vector<RuntimeState> probe_runtimes() {
  const auto runtimes = measure::container_runtimes();
  std::vector<RuntimeState> states(runtimes.size());
  // Each is a program that takes its time.
  measure::for_each_in_parallel(runtimes.size(), static_cast<int>(runtimes.size()), [&](std::size_t i) {
    RuntimeState& state = states[i];
    state.name = runtimes[i]->name();
    state.package = runtimes[i]->package();
    state.obstacle = runtimes[i]->obstacle();
    if (state.obstacle.empty()) state.version = runtimes[i]->version();
    return true;
  });
  return states;
}

std::vector<Diagnosis> check_containers(const std::vector<RuntimeState>& runtimes) {
  const bool any = std::ranges::any_of(runtimes, [](const RuntimeState& each) { return each.obstacle.empty(); });
  std::vector<Diagnosis> findings;
  for (const RuntimeState& state : runtimes) {
    Diagnosis finding{.subject = state.name};
    if (state.obstacle.empty()) {
      finding.found = state.version.empty() ? "usable" : state.version;
    } else {
      finding.health = Health::Optional;
      finding.found = state.obstacle;
      finding.meaning = "container=" + state.name + " cannot be tried";
      if (!any && &state == runtimes.data()) finding.packages.push_back(state.package);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace nocturne::tuner
