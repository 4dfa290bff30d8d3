#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "kernels/machine/arithmetic.hpp"
#include "kernels/machine/disk.hpp"
#include "kernels/machine/measurement.hpp"
#include "kernels/machine/memory_survey.hpp"
#include "kernels/machine/report.hpp"
#include "kernels/machine/team.hpp"
#include "kernels/machine/tiles.hpp"
#include "kernels/machine/topology.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::machine {
namespace {

void write_fact(const std::filesystem::path& file, const std::string& line) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << line << '\n';
}

/// Two CPUs with 32 KiB and 1 MiB each and 16 MiB together, on two nodes.
void lay_out(const std::filesystem::path& sys) {
  for (const char* number : {"0", "1"}) {
    const std::string cpu = number;
    const auto cache = sys / "devices/system/cpu" / ("cpu" + cpu) / "cache";
    const std::array<std::array<std::string, 4>, 4> rows = {{{"1", "Data", "32K", cpu},
                                                             {"1", "Instruction", "64K", cpu},
                                                             {"2", "Unified", "1024K", cpu},
                                                             {"3", "Unified", "16M", "0-1"}}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto folder = cache / ("index" + std::to_string(i));
      write_fact(folder / "level", rows[i][0]);
      write_fact(folder / "type", rows[i][1]);
      write_fact(folder / "size", rows[i][2]);
      write_fact(folder / "shared_cpu_list", rows[i][3]);
    }
    write_fact(sys / "devices/system/node" / ("node" + cpu) / "cpulist", cpu);
  }
  write_fact(sys / "devices/system/node/online", "0-1");
}

}  // namespace

TEST_CASE("each peak loop computes what it must", "[machine]") {
  volatile float one = 1;
  std::vector<ArithmeticKernel> kernels = f32_kernels();
  CHECK(kernels.back().name == "generic");
  for (const ArithmeticKernel& kernel : bf16_kernels()) kernels.push_back(kernel);
  for (const ArithmeticKernel& kernel : tile_kernels()) kernels.push_back(kernel);
  for (const ArithmeticKernel& kernel : kernels) {
    CAPTURE(kernel.name);
    CHECK(kernel.flops > 0);
    for (const std::int64_t iterations : {std::int64_t{64}, std::int64_t{1000}})
      CHECK(kernel.run(iterations, one) == kernel.expected(iterations));
    CHECK(kernel.run(64, 0.5F) != kernel.expected(64));  // the sum depends on the loop's input
  }
}

TEST_CASE("the triad writes what it must, and a wrong element is seen", "[machine]") {
  TriadArrays arrays(5001);  // not a multiple of a vector
  arrays.fill();
  CHECK_FALSE(arrays.is_right(3));
  arrays.run(3);
  CHECK(arrays.is_right(3));
  CHECK_FALSE(arrays.is_right(2));
  CHECK(arrays.bytes_moved() == 60012);
}

TEST_CASE("the triad's arrays are larger than a cache and smaller than memory", "[machine]") {
  const int cpu = allowed_cpus().front();
  CHECK(triad_elements({cpu}) >= 4096);
  CHECK(triad_elements({cpu}) * sizeof(float) >= std::min(4 * last_cache_bytes({cpu}), free_memory_bytes() / 13));
  CHECK(triad_elements({cpu, cpu, cpu, cpu}) <= triad_elements({cpu}));
}

TEST_CASE("many passes over arrays in a cache write the same as one", "[machine]") {
  TriadArrays arrays(1360);
  arrays.fill();
  arrays.run(3, 100);
  CHECK(arrays.is_right(3));
}

TEST_CASE("a ring visits each line once before it comes back, in an order that the seed decides", "[machine]") {
  PointerRing ring(std::size_t{64} * 100);
  REQUIRE(ring.lines() == 100);
  ring.link(1);
  const auto start = ring.position();
  std::vector<int> visits(100, 0);
  std::size_t neighbours = 0;
  for (int i = 0; i < 100; ++i) {
    const auto before = ring.position();
    CHECK(++visits[before] == 1);
    ring.follow(1);
    CHECK(ring.is_right());
    if (ring.position() == before + 1) ++neighbours;
  }
  CHECK(ring.position() == start);
  CHECK(neighbours < 20);  // a prefetcher would learn a straight walk; by chance there is one
  ring.follow(12345);
  CHECK(ring.is_right());
  CHECK(PointerRing(1).lines() == 2);
}

TEST_CASE("caches and nodes are read from sysfs, those of this process only", "[machine]") {
  const test::TemporaryFolder folder;
  lay_out(folder.path());
  const auto caches = data_caches(0, {0, 1}, folder.path());
  REQUIRE(caches.size() == 3);
  CHECK(caches[0] == CacheLevel{.level = 1, .bytes = 32 << 10, .sharers = 1});
  CHECK(caches[1] == CacheLevel{.level = 2, .bytes = 1 << 20, .sharers = 1});
  CHECK(caches[2] == CacheLevel{.level = 3, .bytes = 16 << 20, .sharers = 2});
  CHECK(data_caches(0, {0}, folder.path())[2].sharers == 1);
  CHECK(last_cache_bytes({0, 1}, folder.path()) == 16 << 20);  // one, shared
  CHECK(last_cache_bytes({0}, folder.path()) == 16 << 20);
  CHECK(memory_nodes({0, 1}, folder.path()).size() == 2);
  CHECK(memory_nodes({1}, folder.path()) == std::vector<MemoryNode>{{.id = 1, .cpus = {1}}});
  CHECK(data_caches(7, {7}, folder.path()).empty());
  CHECK(memory_nodes({0}, folder.path() / "nowhere").empty());
  CHECK(parse_cpu_list("0-2,8") == std::vector<int>{0, 1, 2, 8});
  for (const char* wrong : {"", "x", "1-", "-1", "1,,2", "0-99999999999"}) CHECK(parse_cpu_list(wrong).empty());
}

TEST_CASE("CPUs of one core are one core, and each is its own where the system does not tell", "[machine]") {
  const test::TemporaryFolder folder;
  const auto siblings = [&](const char* cpu, const char* list) {
    write_fact(folder.path() / "devices/system/cpu" / cpu / "topology/thread_siblings_list", list);
  };
  siblings("cpu0", "0,2");
  siblings("cpu1", "1,3");
  siblings("cpu2", "0,2");
  siblings("cpu3", "1,3");
  CHECK(core_count({0, 1, 2, 3}, folder.path()) == 2);
  CHECK(core_count({0, 2}, folder.path()) == 1);
  CHECK(core_count({0, 1, 7}, folder.path()) == 3);
  CHECK(core_count({0, 1}, folder.path() / "nowhere") == 2);
}

TEST_CASE("tiles that cannot be used say why, the first reason first", "[machine]") {
  CHECK(tile_obstacle({}).find("built without AMX") != std::string::npos);
  CHECK(tile_obstacle({.compiled = true}).find("no AMX") != std::string::npos);
  CHECK(tile_obstacle({.compiled = true, .processor = true}).find("does not keep") != std::string::npos);
  CHECK(tile_obstacle({.compiled = true, .processor = true, .saved = true}).find("arch_prctl") != std::string::npos);
  CHECK(tile_obstacle({.compiled = true, .processor = true, .saved = true, .permitted = true}).empty());
  const TileFacts here = tile_facts();
  CHECK(here.processor <= here.compiled);
  CHECK(here.saved <= here.processor);
  CHECK(here.permitted <= here.saved);
  CHECK(tile_kernels().empty() == !here.permitted);
}

TEST_CASE("a working set lies in its cache, not in a nearer one, and in a thread's share of it", "[machine]") {
  const std::vector<CacheLevel> caches = {{.level = 1, .bytes = 32 << 10, .sharers = 1},
                                          {.level = 2, .bytes = 1 << 20, .sharers = 1},
                                          {.level = 3, .bytes = 16 << 20, .sharers = 8}};
  CHECK(working_set(caches, 0, false) == (16U << 10));
  CHECK(working_set(caches, 1, false) == (512U << 10));
  CHECK(working_set(caches, 2, false) == (8U << 20));
  CHECK(working_set(caches, 2, true) == (3U << 19));  // three quarters of 2 MiB: half would be the L2
  const std::vector<CacheLevel> crowded = {{.level = 2, .bytes = 1 << 20, .sharers = 1},
                                           {.level = 3, .bytes = 8 << 20, .sharers = 8}};
  CHECK(working_set(crowded, 1, true) == 0);
}

TEST_CASE("the disk is written and read back, and nothing is left behind", "[machine]") {
  const test::TemporaryFolder folder;
  const auto both = measure_disk(folder.path(), std::chrono::seconds(30), std::size_t{8} << 20);
  REQUIRE(both.size() == 2);
  for (const Measurement& each : both) {
    CAPTURE(each.name, each.absent);
    CHECK(each.absent.empty());
    CHECK(each.right);
    CHECK(each.rate.median > 0);
    CHECK(each.rate.repeats == 3);
    CHECK(each.working_set_bytes == 8 << 20);
  }
  CHECK(both[0].name == "disk_write");
  CHECK(both[1].name == "disk_read");
  CHECK(std::filesystem::is_empty(folder.path()));
  const auto nowhere = measure_disk(folder.path() / "nowhere", std::chrono::seconds(1));
  CHECK(nowhere[0].absent.find("nowhere") != std::string::npos);
  CHECK_FALSE(nowhere[1].absent.empty());
}

TEST_CASE("a team prepares, meets, works, and each member is called once", "[machine]") {
  const std::vector<int> cpus(3, allowed_cpus().front());
  std::atomic<int> prepared = 0, worked = 0, early = 0;
  const auto took = time_together(
      cpus, [&](std::size_t) { ++prepared; },
      [&](std::size_t) {
        if (prepared != 3) ++early;
        ++worked;
      });
  CHECK(prepared == 3);
  CHECK(worked == 3);
  CHECK(early == 0);
  CHECK(took.count() > 0);
}

TEST_CASE("the spread is that of the quartiles", "[machine]") {
  const Spread spread = spread_of({5, 1, 3, 2, 4});
  CHECK(spread.median == 3);
  CHECK(spread.minimum == 1);
  CHECK(spread.maximum == 5);
  CHECK(spread.relative_spread == Catch::Approx((4.0 - 2.0) / 3.0));
  CHECK(spread.repeats == 5);
  CHECK(spread_of({1, 2}).median == Catch::Approx(1.5));
  CHECK(spread_of({}).repeats == 0);
}

TEST_CASE("what was not measured says why", "[machine]") {
  const nlohmann::json report =
      to_json({Measurement{.name = "fma_bf16", .unit = "GFLOP/s", .absent = "no such thing"}});
  CHECK(report["measurements"][0]["absent"] == "no such thing");
  CHECK_FALSE(report["measurements"][0].contains("median"));
}

TEST_CASE("a team that the system does not grant is an error, not a wait for ever", "[machine]") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP("a sanitizer needs the room that this test takes away");
#endif
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    std::size_t pages = 0;  // of all it has mapped
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t room = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (std::size_t{64} << 20);
    const rlimit limit{room, room};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      static_cast<void>(
          time_together(std::vector<int>(2000, allowed_cpus().front()), [](std::size_t) {}, [](std::size_t) {}));
    } catch (const std::system_error&) {
      ::_exit(0);
    }
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace nocturne::machine
