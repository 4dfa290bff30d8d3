#include "measure/machine/machine_part.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
/// Two memory nodes with four cores each; the second thread of core i is CPU 8 + i.
constexpr const char* kTwoNodes = "pack:2 [numa] core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)";

std::vector<LogicalCpu> cpus_of(const std::string& synthetic) {
  return read_topology({.synthetic = synthetic}).cpus;
}

using Values = std::map<std::string, std::string>;

/// Of this process, while it lives.
class Variables {
 public:
  explicit Variables(Values variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  Values variables_;
};

/// A driver that shows four GPUs, the first two on memory node 1.
class Driver {
 public:
  Driver() {
    for (int i = 0; i < 4; ++i) {
      const std::string address = fmt::format("0000:{}1:00.0", i);
      write("proc/driver/nvidia/gpus/" + address + "/information",
            fmt::format("Model: \t\t NVIDIA H{}\nIRQ: 1\nGPU UUID: \t GPU-{}{}-77\n", 100 + i, i, i));
      write("sys/bus/pci/devices/" + address + "/numa_node", i < 2 ? "1" : "0");
    }
  }
  [[nodiscard]] fs::path root() const { return root_.path(); }

 private:
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_.path() / name).parent_path());
    std::ofstream(root_.path() / name) << text << '\n';
  }
  test::TemporaryFolder root_;
};

std::string words(const std::vector<VisibleGpu>& gpus) {
  std::vector<std::string> all;
  for (const VisibleGpu& gpu : gpus) all.push_back(fmt::format("{} {} {}", gpu.word, gpu.model, gpu.node));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

TEST_CASE("each GPU gets whole cores, near to it where there are enough", "[machine]") {
  const auto cpus = cpus_of(kTwoNodes);
  const std::vector<VisibleGpu> gpus = {{.word = "0", .node = 1}, {.word = "1", .node = 0}};
  const auto parts = parts_by_gpu(cpus, gpus, 64 * kGiB);
  REQUIRE(parts);
  CHECK(*parts == std::vector<MachinePart>{{"gpu0", {4, 5, 6, 7, 12, 13, 14, 15}, "0", 32 * kGiB},
                                           {"gpu1", {0, 1, 2, 3, 8, 9, 10, 11}, "1", 32 * kGiB}});

  // Three of four on one memory node, and a core too many: each has as much as the others.
  const std::vector<VisibleGpu> crowded = {
      {.word = "0", .node = 0}, {.word = "1", .node = 0}, {.word = "2", .node = 0}};
  const auto shared = parts_by_gpu(cpus, crowded, 64 * kGiB);
  REQUIRE(shared);
  std::set<int> used;
  for (const MachinePart& part : *shared) {
    CHECK(part.cpus.size() == 4);
    used.insert(part.cpus.begin(), part.cpus.end());
    for (const int cpu : part.cpus) CHECK(std::ranges::count(part.cpus, cpu < 8 ? cpu + 8 : cpu - 8) == 1);
  }
  CHECK(used.size() == 12);
}

TEST_CASE("a machine that cannot be divided by its GPUs says why", "[machine]") {
  const auto cpus = cpus_of("pack:1 [numa] core:2 pu:2");
  CHECK(parts_by_gpu(cpus, {}, kGiB).error() == "no GPU is to be seen");
  const std::vector<VisibleGpu> three = {{.word = "0"}, {.word = "1"}, {.word = "2"}};
  CHECK(parts_by_gpu(cpus, three, kGiB).error() == "2 cores are too few for 3 GPUs");
}

TEST_CASE("memory nodes are parts where they are alike", "[machine]") {
  const auto parts = parts_by_node(cpus_of(kTwoNodes), 64 * kGiB);
  REQUIRE(parts);
  CHECK(*parts == std::vector<MachinePart>{{"numa0", {0, 1, 2, 3, 8, 9, 10, 11}, "", 32 * kGiB},
                                           {"numa1", {4, 5, 6, 7, 12, 13, 14, 15}, "", 32 * kGiB}});
  CHECK(parts_by_node(cpus_of("pack:1 [numa] core:2 pu:2"), kGiB).error() == "there is one memory node alone");
  auto fewer = cpus_of(kTwoNodes);
  std::erase_if(fewer, [](const LogicalCpu& cpu) { return cpu.cpu == 7 || cpu.cpu == 15; });
  CHECK(parts_by_node(fewer, kGiB).error() == "memory node 1 has 3 cores, and memory node 0 has 4");
}

TEST_CASE("a part's name says of which kind it is", "[machine]") {
  CHECK(kind_of_part("gpu12") == PartKind::Gpu);
  CHECK(kind_of_part("numa0") == PartKind::Numa);
  CHECK_FALSE(kind_of_part("n1"));
  CHECK_FALSE(kind_of_part("gpunode3"));
  CHECK_FALSE(kind_of_part(""));
  CHECK(plural(PartKind::Gpu) == "GPUs");
  CHECK(plural(PartKind::Numa) == "memory nodes");
}

TEST_CASE("a command is started in a part by its environment and its CPUs", "[machine]") {
  const MachinePart part{.name = "gpu1", .cpus = {2, 3, 10, 11}, .gpu = "1", .memory_bytes = 12};
  const std::vector<std::string> argv = {"nocturne", "execute"};
  CHECK(fmt::format("{}", fmt::join(words_in_part(part, argv), " ")) ==
        "env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 NOCTURNE_PART=gpu1 NOCTURNE_PART_MEMORY=12 "
        "taskset -c 2-3,10-11 nocturne execute");
}

TEST_CASE("GPUs are those that CUDA_VISIBLE_DEVICES names", "[machine]") {
  const Driver driver;
  CHECK(words(visible_gpus(driver.root())) == "0 NVIDIA H100 1, 1 NVIDIA H101 1, 2 NVIDIA H102 0, 3 NVIDIA H103 0");
  const auto named = [&](const std::string& value) {
    const Variables set(Values{{"CUDA_VISIBLE_DEVICES", value}});
    CHECK(visible_gpu_variables() == Values{{"CUDA_VISIBLE_DEVICES", value}});
    return words(visible_gpus(driver.root()));
  };
  CHECK(named("2,0") == "2 NVIDIA H102 0, 0 NVIDIA H100 1");
  CHECK(named("GPU-33") == "GPU-33 NVIDIA H103 0");
  CHECK(named("MIG-5") == "MIG-5 NVIDIA H100 -1");
  CHECK(named("1,-1,2") == "1 NVIDIA H101 1");
  CHECK(named("").empty());
  CHECK(visible_gpu_variables().empty());
  const Variables set(Values{{"CUDA_VISIBLE_DEVICES", "3"}});
  CHECK(probe_machine_cheaply({.root = driver.root()}).gpus == std::vector<std::string>{"NVIDIA H103"});
  // A scheduler's GPUs, whose driver shows nothing.
  CHECK(words(visible_gpus("/no/such/root")) == "3  -1");
}

TEST_CASE("two parts of a machine are of one class, and not of the machine's", "[machine]") {
  const test::TemporaryFolder root;
  const auto probe = [&](const std::string& cpus) {
    fs::create_directories(root.path() / "proc/self");
    std::ofstream(root.path() / "proc/self/status") << "Cpus_allowed_list:\t" << cpus << '\n';
    std::ofstream(root.path() / "proc/meminfo") << "MemTotal:       67108864 kB\n";
    return probe_machine_cheaply({.root = root.path(), .topology = {.synthetic = kTwoNodes}});
  };
  CHECK(present_part().empty());
  CHECK(present_part_variables().empty());
  const MachineFacts whole = probe("0-15");
  const auto part = [&](const std::string& name, const std::string& cpus) {
    const Variables set(Values{{"NOCTURNE_PART", name}, {"NOCTURNE_PART_MEMORY", std::to_string(16 * kGiB)}});
    CHECK(present_part() == name);
    CHECK(present_part_variables().size() == 4);
    return probe(cpus);
  };
  const MachineFacts first = part("gpu0", "0-3,8-11"), second = part("gpu1", "4-7,12-15"),
                     small = part("gpu1", "4-5,12-13");
  CHECK(first.usable_cores() == 4);
  CHECK(first.usable_memory_bytes() == 16 * kGiB);
  CHECK(whole.usable_memory_bytes() == 64 * kGiB);
  CHECK(fingerprint_of(first).find("cpu.allowed")->value == "8 CPUs on 4 cores for each gpu");
  CHECK(fingerprint_of(first).find("system.host")->value.ends_with("/gpu0"));
  CHECK(fingerprint_of(first).key() == fingerprint_of(second).key());
  CHECK(fingerprint_of(first).identity() != fingerprint_of(second).identity());
  CHECK(fingerprint_of(first).key() != fingerprint_of(small).key());
  CHECK(fingerprint_of(first).key() != fingerprint_of(whole).key());
}

}  // namespace nocturne::measure
