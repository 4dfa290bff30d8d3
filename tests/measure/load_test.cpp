#include "measure/supervisor/load.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using namespace std::chrono_literals;
using Catch::Approx;

namespace {

void write_proc(const std::filesystem::path& proc, const char* cpu_line, long stalled_us) {
  std::filesystem::create_directories(proc / "pressure");
  std::ofstream(proc / "loadavg") << "1.25 0.50 0.25 2/100 4711\n";
  std::ofstream(proc / "stat") << cpu_line << "\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
  for (const char* name : {"cpu", "memory", "io"}) {
    std::ofstream(proc / "pressure" / name) << "some avg10=0.00 avg60=0.00 avg300=0.00 total=" << stalled_us
                                            << "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
  }
}

}  // namespace

TEST_CASE("load is the difference of two looks at /proc", "[load]") {
  const test::TemporaryFolder proc;
  //                              user nice sys idle iowait irq softirq steal guest guest_nice
  write_proc(proc.path(), "cpu  1000 10 200 5000 50 5 5 30 400 0", 1'000'000);
  LoadSnapshot before = read_load(proc.path());
  CHECK(before.busy_ticks == 1220);
  CHECK(before.all_ticks == 6300);
  write_proc(proc.path(), "cpu  1300 10 300 5380 50 5 5 50 700 0", 3'500'000);
  LoadSnapshot after = read_load(proc.path());
  after.at = before.at + 10s;
  // 800 ticks in all: 400 busy, 380 idle, 20 stolen. Of the busy ones 300 (3 s at 100 Hz) are our own.
  const space::Load load = load_between(before, after, 3s, 100);
  CHECK(load.loadavg_before == 1.25);
  CHECK(load.cpu_pressure.value() == Approx(0.25));
  CHECK(load.io_pressure.value() == Approx(0.25));
  CHECK(load.steal.value() == Approx(20.0 / 800));
  CHECK(load.other_cpu.value() == Approx(100.0 / 800));
  CHECK(load_between(before, after, 100s, 100).other_cpu == 0.0);
}

TEST_CASE("load of some processors is that of their lines", "[load]") {
  const test::TemporaryFolder proc;
  std::ofstream(proc.path() / "stat") << "cpu  900 0 0 900 0 0 0 0 0 0\ncpu0 100 0 0 10 0 0 0 5 0 0\n"
                                         "cpu1 200 0 0 20 0 0 0 0 0 0\ncpu10 400 0 0 40 0 0 0 0 0 0\n";
  const std::vector<int> cpus = {0, 10};
  const LoadSnapshot seen = read_load(proc.path(), cpus);
  CHECK(seen.busy_ticks == 500);
  CHECK(seen.steal_ticks == 5);
  CHECK(seen.all_ticks == 555);
  const std::vector<int> missing = {7};
  CHECK_FALSE(read_load(proc.path(), missing).all_ticks);
}

TEST_CASE("a kernel that does not tell leaves fields empty", "[load]") {
  const test::TemporaryFolder empty;
  const LoadSnapshot nothing = read_load(empty.path());
  CHECK(load_between(nothing, nothing, 1s) == space::Load{});
}
