#include "measure/machine/machine.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/parts.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCores = "pack:1 [numa] l3:1(size=33554432) core:2 l1d:1(size=32768) pu:2(indexes=0,2,1,3)";

/// A /proc and /sys laid out by hand, and its cores as hwloc describes them.
class Machine {
 public:
  Machine() {
    // One socket, two cores with two threads each; CPU 3 is not allowed.
    std::string cpuinfo;
    for (int cpu = 0; cpu < 4; ++cpu) {
      cpuinfo += "processor\t: " + std::to_string(cpu) +
                 "\nmodel name\t: Some CPU: 4 GHz\ncpu family\t: 25\nmodel\t\t: 17\nstepping\t: 1\n"
                 "microcode\t: 0xa1\nphysical id\t: 0\ncore id\t\t: " +
                 std::to_string(cpu % 2) + "\nflags\t\t: fpu sse4_1 avx2 hypervisor avx512f avx512_bf16 pae\n\n";
    }
    write("proc/cpuinfo", cpuinfo);
    write("sys/devices/system/cpu/cpufreq/boost", "1");
    write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    write("sys/class/dmi/id/sys_vendor", "QEMU");
    write("proc/self/status", "Name:\tx\nCpus_allowed:\t7\nCpus_allowed_list:\t0-2\n");
    write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
    write("proc/sys/kernel/osrelease", "6.1.0-test");
    write("proc/sys/kernel/hostname", "box");
  }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_.path() / name).parent_path());
    std::ofstream(root_.path() / name) << text << '\n';
  }
  [[nodiscard]] MachineFacts probe(TopologySource topology = {.synthetic = kCores}) const {
    return probe_machine(
        {.root = root_.path(), .onednn_prefix = {}, .probe_programs = false, .topology = std::move(topology)});
  }

 private:
  test::TemporaryFolder root_;
};

}  // namespace

TEST_CASE("processor, caches and system are read from /proc and /sys", "[machine]") {
  const Machine machine;
  const MachineFacts facts = machine.probe();
  CHECK(facts.cpu_model == "Some CPU: 4 GHz");
  CHECK(facts.cpu_family == 25);
  CHECK(facts.cpu_model_number == 17);
  CHECK(facts.cpu_stepping == 1);
  CHECK(facts.microcode == "0xa1");
  CHECK(facts.isa == std::vector<std::string>{"avx2", "avx512_bf16", "avx512f", "sse4_1"});
  CHECK(has_isa(facts, "avx512_bf16"));
  CHECK_FALSE(has_isa(facts, "amx_bf16"));
  CHECK(facts.sockets == 1);
  CHECK(facts.cores == 2);
  CHECK(facts.threads == 4);
  CHECK(facts.allowed_cpus == std::vector{0, 1, 2});
  CHECK(facts.allowed_cores == 2);
  CHECK(facts.usable_cores() == 2);
  CHECK(facts.usable_threads() == 3);
  CHECK(facts.caches == std::vector<Cache>{{1, "Data", 32768, 2}, {3, "Unified", 33554432, 1}});
  CHECK(facts.numa_nodes == 1);
  CHECK(facts.governor == "performance");
  CHECK(facts.boost == true);
  CHECK(facts.memory_bytes == std::int64_t{16} << 30);
  CHECK(facts.transparent_huge_pages == "madvise");
  CHECK(facts.kernel == "6.1.0-test");
  CHECK(facts.hostname == "box");
  CHECK(facts.hypervisor == "QEMU");
  CHECK(facts.container.empty());
  CHECK(facts.gpus.empty());
}

TEST_CASE("a cgroup of version 2 limits cores and memory, its parents too", "[machine]") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/outer/middle/inner");
  machine.write("sys/fs/cgroup/outer/middle/inner/cpu.max", "max 100000");
  machine.write("sys/fs/cgroup/outer/middle/cpu.max", "100000 50000");
  machine.write("sys/fs/cgroup/outer/cpu.max", "150000 100000");
  machine.write("sys/fs/cgroup/cpu.max", "400000 100000");
  machine.write("sys/fs/cgroup/outer/middle/inner/memory.max", "4294967296");
  machine.write("sys/fs/cgroup/outer/memory.max", "max");
  const MachineFacts facts = machine.probe();
  CHECK(facts.cpu_quota == 1.5);
  CHECK(facts.usable_cores() == 1);
  CHECK(facts.memory_limit_bytes == std::int64_t{4} << 30);
  CHECK(facts.usable_memory_bytes() == std::int64_t{4} << 30);
}

TEST_CASE("a cgroup of version 1 does so in its own files", "[machine]") {
  const Machine machine;
  machine.write("proc/self/cgroup", "4:memory:/job\n2:cpuacct,cpu:/job\n0::/");
  machine.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000");
  machine.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // the kernel's "none"
  const MachineFacts facts = machine.probe();
  CHECK(facts.cpu_quota == 3.0);
  CHECK(facts.usable_cores() == 2);
  CHECK(facts.memory_limit_bytes == std::int64_t{1} << 30);
}

TEST_CASE("NVIDIA's driver and cards are read without its programs", "[machine]") {
  const Machine machine;
  machine.write("proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build");
  machine.write("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1");
  const MachineFacts facts = machine.probe();
  CHECK(facts.gpu_driver == "570.86.15");
  CHECK(facts.gpus == std::vector<std::string>{"NVIDIA H200"});
}

TEST_CASE("what cannot be read is empty, never an error", "[machine]") {
  const MachineFacts facts = probe_machine({.root = "/no/such/root", .onednn_prefix = {}, .probe_programs = false});
  CHECK(facts.cpu_model.empty());
  CHECK(facts.isa.empty());
  CHECK(facts.memory_bytes == 0);
  CHECK(facts.usable_cores() == 1);
  CHECK_FALSE(facts.cpu_quota);
  const Machine torn;
  torn.write("proc/cpuinfo", ":::\n\nnonsense\nprocessor");
  torn.write("proc/self/status", "Cpus_allowed_list:\t0-,x,3-1");
  CHECK(torn.probe().cpu_model.empty());
  CHECK(torn.probe().allowed_cpus.empty());
}

TEST_CASE("a hybrid processor is told by its kinds of cores, and by default only the fast ones compute", "[machine]") {
  const Machine machine;
  machine.write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
  const MachineFacts facts = machine.probe({.xml = NOCTURNE_TOPOLOGIES "/hybrid.xml"});
  CHECK(facts.cores_by_kind == std::vector{2, 4});
  CHECK(facts.usable_cores() == 6);
  CHECK(facts.usable_fast_cores() == 2);
  CHECK(fingerprint_of(facts).find("cpu.topology")->value == "1 sockets, 6 cores (2 fast, 4 slower), 8 threads");
  CHECK(*facts_of(facts).find("machine.fast_cores") == space::Fact(std::int64_t{2}));
  const MachineFacts alike = Machine().probe();
  CHECK(fingerprint_of(alike).find("cpu.topology")->value == "1 sockets, 2 cores, 4 threads");
  CHECK(*facts_of(alike).find("machine.fast_cores") == space::Fact(std::int64_t{2}));
  CHECK(kinds_text({2, 4, 2}) == "2 fast, 4 slower, 2 slowest");
}

TEST_CASE("a quota counts for the fast cores, too", "[machine]") {
  MachineFacts facts;
  facts.allowed_cores = 6;
  facts.allowed_fast_cores = 2;
  CHECK(facts.usable_fast_cores() == 2);
  facts.cpu_quota = 1;
  CHECK(facts.usable_fast_cores() == 1);
}

TEST_CASE("CPU lists are parsed", "[machine]") {
  CHECK(parse_cpu_list("0-2,5,7-8\n") == std::vector{0, 1, 2, 5, 7, 8});
  CHECK(parse_cpu_list("").empty());
}

TEST_CASE("this machine has a processor, memory and at least one compiler", "[machine]") {
  const MachineFacts facts = probe_machine();
  CHECK(facts.threads > 0);
  CHECK(facts.usable_cores() > 0);
  CHECK(facts.memory_bytes > 0);
  CHECK_FALSE(facts.allowed_cpus.empty());
  CHECK_FALSE(facts.compilers.empty());
  CHECK_FALSE(facts.kernel.empty());
}

TEST_CASE("expressions know whether the worker can be built", "[fingerprint]") {
  MachineFacts facts;
  facts.compilers = {{"g++", "/usr/bin/g++", ""}};
  facts.onednn = "3.2.0";
  CHECK(*facts_of(facts).find("machine.can_build") == space::Fact(true));
  facts.missing_headers = {{"zlib.h", "zlib1g-dev"}};
  CHECK(*facts_of(facts).find("machine.can_build") == space::Fact(false));
}

TEST_CASE("a header that the worker needs and the compiler does not find is named with its package", "[machine]") {
  const test::TemporaryFolder folder;
  const fs::path headers = folder.path() / "headers";
  fs::create_directories(headers / "nlohmann");
  for (const char* name : {"cstdio", "jpeglib.h", "nlohmann/json_fwd.hpp"}) std::ofstream(headers / name) << "\n";
  std::ofstream(folder.path() / "g++") << "#!/bin/sh\nexec " << probe_machine().compilers.at(0).path
                                       << " -nostdinc -nostdinc++ -I" << headers.string() << " \"$@\"\n";
  fs::permissions(folder.path() / "g++", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", folder.path().c_str(), 1);
  const MachineFacts facts = probe_machine();
  fs::remove(headers / "cstdio");
  const MachineFacts without_library = probe_machine();
  ::setenv("PATH", path.c_str(), 1);
  REQUIRE(facts.compilers.size() == 1);
  CHECK(facts.missing_headers == std::vector<MissingHeader>{{"zlib.h", "zlib1g-dev"}});
  CHECK(without_library.missing_headers == std::vector<MissingHeader>{{"cstdio", "g++"}, {"zlib.h", "zlib1g-dev"}});
}

TEST_CASE("a fingerprint's key changes with what must match, not with what only explains", "[fingerprint]") {
  const Machine machine;
  const MachineFacts facts = machine.probe();
  const std::string key = fingerprint_of(facts).key();
  CHECK(fingerprint_of(facts) == fingerprint_of(machine.probe()));

  MachineFacts other = facts;
  other.hostname = "another";
  other.kernel = "6.2";  // verified, not part of the key
  CHECK(fingerprint_of(other).key() == key);
  CHECK_FALSE(fingerprint_of(other) == fingerprint_of(facts));
  const auto differences = fingerprint_of(facts).differences(fingerprint_of(other));
  REQUIRE(differences.size() == 1);  // the host name is never compared
  CHECK(differences[0].name == "system.kernel");
  CHECK(differences[0].match == space::Match::Verify);

  for (void (*change)(MachineFacts&) :
       {+[](MachineFacts& f) { f.cpu_model = "x"; }, +[](MachineFacts& f) { f.isa.clear(); },
        +[](MachineFacts& f) { f.allowed_cpus = {0}; }, +[](MachineFacts& f) { f.cpu_quota = 1; },
        +[](MachineFacts& f) { f.gpu_driver = "580"; }, +[](MachineFacts& f) { f.onednn = "3.7"; },
        +[](MachineFacts& f) { f.memory_bytes *= 2; }}) {
    MachineFacts changed = facts;
    change(changed);
    CHECK(fingerprint_of(changed).key() != key);
  }
}

TEST_CASE("a few pages more for the kernel are no other machine", "[fingerprint]") {
  MachineFacts facts;
  facts.memory_bytes = 16766 << 20LL;
  MachineFacts later = facts;
  later.memory_bytes -= 3 << 20;
  CHECK(fingerprint_of(facts).key() == fingerprint_of(later).key());
}

TEST_CASE("cheap fields are renewed, the others stay", "[fingerprint]") {
  const Machine machine;
  MachineFacts before = machine.probe();
  before.libc = "glibc 2.36";
  machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
  const MachineFacts now =
      probe_machine_cheaply({.root = "/no/such/root", .onednn_prefix = {}, .probe_programs = false});
  const space::Fingerprint renewed = with_cheap_fields(fingerprint_of(before), now);
  CHECK(renewed.find("software.libc")->value == "glibc 2.36");
  CHECK(renewed.find("cpu.caches")->value == fingerprint_of(before).find("cpu.caches")->value);
  CHECK(renewed.find("cpu.model")->value.empty());
  for (const auto& field : renewed.fields())
    if (!field.cheap) CHECK(field.value == fingerprint_of(before).find(field.name)->value);
}

TEST_CASE("expressions know the machine by its facts", "[fingerprint]") {
  const Machine machine;
  const space::Facts facts = facts_of(machine.probe());
  CHECK(*facts.find("machine.cores") == space::Fact(std::int64_t{2}));
  CHECK(*facts.find("machine.threads") == space::Fact(std::int64_t{3}));
  CHECK(*facts.find("machine.memory_bytes") == space::Fact(std::int64_t{16} << 30));
  CHECK(std::get<std::vector<std::string>>(*facts.find("machine.isa")).size() == 4);
  CHECK(*facts.find("machine.l3_bytes") == space::Fact(std::int64_t{33554432}));
  CHECK(*facts.find("machine.virtual") == space::Fact(true));
}

}  // namespace nocturne::measure
