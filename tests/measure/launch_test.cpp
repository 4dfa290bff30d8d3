#include "measure/run/launch.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {
namespace {

using space::Configuration;
using space::Value;

/// Two sockets, two cores each, two threads a core; siblings are 4 apart, as most machines number them.
LaunchMachine two_sockets() {
  LaunchMachine machine;
  machine.allowed = read_topology({.synthetic = "pack:2 [numa] l3:1 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)"}).cpus;
  machine.find_library = [](std::string_view name) -> std::optional<std::filesystem::path> {
    if (name == "libjemalloc.so.2") return "/usr/lib/libjemalloc.so.2";
    return std::nullopt;
  };
  return machine;
}

LaunchSettings settle(Configuration::Values values) {
  const auto settings = launch_settings(Configuration(std::move(values)), two_sockets());
  REQUIRE(settings);
  return *settings;
}

std::string refusal(Configuration::Values values) {
  const auto settings = launch_settings(Configuration(std::move(values)), two_sockets());
  REQUIRE_FALSE(settings);
  return settings.error();
}

Value text(const char* value) {
  return std::string(value);
}
Value number(std::int64_t value) {
  return value;
}

using Variables = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a configuration without launch parameters sets nothing and clears what the table governs", "[launch]") {
  const LaunchSettings settings = settle({{"batch", number(128)}, {"precision", text("bf16")}});
  CHECK(settings.variables().empty());
  CHECK(settings.cpus.empty());
  for (const char* name : {"OMP_NUM_THREADS", "LD_PRELOAD", "GLIBC_TUNABLES"})
    CHECK(std::ranges::count(settings.unset, name) == 1);
  CHECK(std::ranges::count(settings.unset, "PATH") == 0);
}

TEST_CASE("threads and wait policy become OpenMP's variables", "[launch]") {
  CHECK(
      settle({{"threads", number(2)}, {"wait_policy", text("passive")}}).set ==
      Variables{
          {"OMP_NUM_THREADS", "2"}, {"OMP_DYNAMIC", "false"}, {"OMP_WAIT_POLICY", "passive"}, {"GOMP_SPINCOUNT", "0"}});
  CHECK(settle({{"wait_policy", text("active")}}).set.at("GOMP_SPINCOUNT") == "infinity");
  CHECK(settle({{"wait_policy", text("default")}}).set.empty());
}

TEST_CASE("close takes neighbouring CPUs, spread takes distant ones", "[launch]") {
  const LaunchSettings close = settle({{"threads", number(2)}, {"affinity", text("close")}});
  CHECK(close.cpus == std::vector{0, 4});  // both threads of the first core
  CHECK(close.set.at("OMP_PLACES") == "{0},{4}");
  CHECK(close.set.at("OMP_PROC_BIND") == "close");
  CHECK(settle({{"threads", number(2)}, {"affinity", text("compact")}}) == close);

  const LaunchSettings spread = settle({{"threads", number(2)}, {"affinity", text("spread")}});
  CHECK(spread.cpus == std::vector{0, 2});  // a core of each socket
  const LaunchSettings four = settle({{"threads", number(4)}, {"affinity", text("spread")}});
  CHECK(four.cpus == std::vector{0, 1, 2, 3});  // each core once
  CHECK(four.set.at("OMP_PLACES") == "{0},{2},{1},{3}");
  CHECK(settle({{"affinity", text("spread")}}).cpus.size() == 8);
}

TEST_CASE("l3 and numa take the cores of one cache or node before their second threads, and before the next",
          "[launch]") {
  for (const char* affinity : {"l3", "numa"}) {
    const LaunchSettings two = settle({{"threads", number(2)}, {"affinity", text(affinity)}});
    CHECK(two.cpus == std::vector{0, 1});
    CHECK(two.set.at("OMP_PLACES") == "{0},{1}");
    CHECK(settle({{"threads", number(5)}, {"affinity", text(affinity)}}).set.at("OMP_PLACES") == "{0},{1},{4},{5},{2}");
  }
}

TEST_CASE("a memory policy is of the nodes of all CPUs, or bound to those of the threads", "[launch]") {
  using Nodes = std::vector<int>;
  const auto policy = [](const char* mode, const char* affinity) {
    return settle({{"threads", number(2)}, {"affinity", text(affinity)}, {"memory_policy", text(mode)}}).memory;
  };
  CHECK_FALSE(settle({{"threads", number(2)}}).memory.is_set());
  CHECK(policy("local", "numa") == MemoryPolicy{.mode = "local"});
  CHECK(policy("interleave", "numa") == MemoryPolicy{.mode = "interleave", .nodes = {0, 1}});
  CHECK(policy("bind", "numa") == MemoryPolicy{.mode = "bind", .nodes = {0}});
  CHECK(policy("bind", "spread").nodes == Nodes{0, 1});
  CHECK(policy("bind", "none").nodes == Nodes{0, 1});
}

TEST_CASE("no affinity binds nothing", "[launch]") {
  const LaunchSettings settings = settle({{"threads", number(2)}, {"affinity", text("none")}});
  CHECK(settings.cpus.empty());
  CHECK(settings.set.at("OMP_PROC_BIND") == "false");
  CHECK_FALSE(settings.set.contains("OMP_PLACES"));
}

TEST_CASE("CPU lists are written as taskset reads them", "[launch]") {
  LaunchSettings settings;
  CHECK(settings.cpu_list().empty());
  settings.cpus = {0, 1, 2, 5, 7, 8};
  CHECK(settings.cpu_list() == "0-2,5,7-8");
}

TEST_CASE("a command is typed behind its environment, CPUs and memory nodes", "[launch]") {
  using Words = std::vector<std::string>;
  const Words command = {"worker", "--quiet"};
  CHECK(typed_words({}, command) == command);
  const LaunchSettings settings{.set = {{"A", "1"}},
                                .unset = {"B"},
                                .cpus = {0, 1, 3},
                                .memory = {.mode = "bind", .nodes = {0}},
                                .preload = {"/lib/x.so"}};
  CHECK(typed_words(settings, command) == Words{"env", "-u", "B", "A=1", "LD_PRELOAD=/lib/x.so", "taskset", "-c",
                                                "0-1,3", "numactl", "--membind=0", "worker", "--quiet"});
}

TEST_CASE("tunables of glibc are combined", "[launch]") {
  CHECK(settle({{"huge_pages", true}}).set == Variables{{"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}});
  CHECK(settle({{"huge_pages", true}, {"env.GLIBC_TUNABLES", text("glibc.malloc.arena_max=1")}}).set ==
        Variables{{"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"}});
  CHECK(settle({{"huge_pages", false}}).set.empty());
}

TEST_CASE("an allocator is preloaded, or the package that has it is named", "[launch]") {
  CHECK(settle({{"allocator", text("glibc")}}).variables().empty());
  CHECK(settle({{"allocator", text("glibc-large")}}).set ==
        Variables{{"MALLOC_MMAP_THRESHOLD_", "4294967296"}, {"MALLOC_TRIM_THRESHOLD_", "8589934592"}});
  const LaunchSettings jemalloc = settle({{"allocator", text("jemalloc")}, {"huge_pages", true}});
  CHECK(jemalloc.variables() == Variables{{"LD_PRELOAD", "/usr/lib/libjemalloc.so.2"}, {"MALLOC_CONF", "thp:always"}});
  CHECK(std::ranges::find(jemalloc.unset, "LD_PRELOAD") == jemalloc.unset.end());
  CHECK(refusal({{"allocator", text("tcmalloc")}}) ==
        "allocator is 'tcmalloc', but libtcmalloc_minimal.so.4 is not on this machine: install the package "
        "libtcmalloc-minimal4");
  CHECK(available_allocators(two_sockets()) == std::vector<std::string>{"glibc", "glibc-large", "jemalloc"});
}

TEST_CASE("the ISA cap is oneDNN's variable", "[launch]") {
  CHECK(settle({{"isa_cap", text("avx512_core")}}).set == Variables{{"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"}});
  CHECK(settle({{"isa_cap", text("none")}}).set.empty());
  CHECK(refusal({{"isa_cap", text("avx512")}}).starts_with("isa_cap is 'avx512'; allowed: none, sse41, "));
}

TEST_CASE("env.NAME sets any variable that nothing else sets", "[launch]") {
  CHECK(settle({{"env.MY_FLAG", true}, {"env._x1", number(3)}, {"env.EMPTY", text("")}}).set ==
        Variables{{"MY_FLAG", "1"}, {"_x1", "3"}, {"EMPTY", ""}});
  CHECK(settle({{"env.KMP_BLOCKTIME", number(0)}}).set.at("KMP_BLOCKTIME") == "0");
  CHECK(refusal({{"env.1X", number(1)}}).starts_with("env.1X: '1X' is not the name of an environment variable"));
  CHECK(refusal({{"env.", number(1)}}).starts_with("env.: ''"));
  CHECK(refusal({{"env.A=B", number(1)}}).contains("is not the name"));
  CHECK(refusal({{"env.NOCTURNE_RUN_ID", number(1)}}).contains("are ours"));
  CHECK(refusal({{"threads", number(2)}, {"env.OMP_NUM_THREADS", number(4)}}) ==
        "env.OMP_NUM_THREADS and another parameter both set OMP_NUM_THREADS");
  CHECK(refusal({{"allocator", text("jemalloc")}, {"env.LD_PRELOAD", text("/x.so")}}).contains("both set LD_PRELOAD"));
}

TEST_CASE("a value outside the table is refused with what is allowed", "[launch]") {
  CHECK(refusal({{"affinity", text("tight")}}) ==
        "affinity is 'tight'; allowed: none, close, compact (the same as close), spread, l3, numa");
  CHECK(refusal({{"memory_policy", text("far")}}) == "memory_policy is 'far'; allowed: local, interleave, bind");
  CHECK(refusal({{"threads", number(0)}}) == "threads is '0'; allowed: integer from 1 to the allowed CPUs");
  CHECK(refusal({{"threads", number(9)}}) == "threads is 9, but only 8 CPUs are allowed to this process");
  CHECK(refusal({{"huge_pages", text("yes")}}) == "huge_pages is 'yes'; allowed: true, false");
  CHECK(refusal({{"wait_policy", text("lazy")}}).starts_with("wait_policy is 'lazy'"));
}

TEST_CASE("each row of the table is known by its name", "[launch]") {
  for (const LaunchParameter& parameter : launch_parameters()) CHECK(is_launch_parameter(parameter.name));
  CHECK(is_launch_parameter("env.ANY"));
  CHECK_FALSE(is_launch_parameter("batch"));
}

TEST_CASE("this machine has CPUs and the two allocators that need no library", "[launch]") {
  const LaunchMachine machine = probe_launch_machine();
  CHECK_FALSE(machine.allowed.empty());
  const auto allocators = available_allocators(machine);
  CHECK(std::ranges::find(allocators, "glibc-large") != allocators.end());
  CHECK_FALSE(machine.find_library("libno-such-library.so.9"));
  CHECK(machine.find_library("libc.so.6"));
}

}  // namespace nocturne::measure
