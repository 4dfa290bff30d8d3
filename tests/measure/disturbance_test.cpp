#include "measure/comparison/disturbance.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nocturne::measure {
namespace {

space::Run throttled_run(std::map<std::string, double> shares) {
  space::Run run;
  run.device = space::DeviceReport{.name = "G", .readings = 20, .throttled = std::move(shares)};
  return run;
}

}  // namespace

TEST_CASE("a device that lowered its clocks held the run back, unless it only kept to its power", "[disturbance]") {
  CHECK(held_back(space::Run()).empty());
  CHECK(held_back(throttled_run({})).empty());
  CHECK(held_back(throttled_run({{"power_cap", 1.0}})).empty());
  CHECK(held_back(throttled_run({{"thermal", 0.05}})).empty());  // one reading of twenty
  CHECK(held_back(throttled_run({{"thermal", 0.1}, {"hardware", 1.0}, {"power_cap", 1.0}})) ==
        "hardware in 100 % of its readings, thermal in 10 % of its readings");
}

TEST_CASE("what disturbed a run is told, the quiet of the machine by the limits of doctor", "[disturbance]") {
  space::Run run = throttled_run({{"power_brake", 0.5}});
  run.load = {.loadavg_before = 9, .other_cpu = 0.05};
  run.load.steal = 0.01;
  CHECK(disturbances(run) == std::vector<std::string>{"its device was held back: power_brake in 50 % of its readings"});
  run.load.other_cpu = 0.4;
  run.load.steal = 0.025;
  run.device.reset();
  CHECK(disturbances(run) == std::vector<std::string>{"other processes took 40 % of the machine",
                                                      "the hypervisor took 2.5 % of the CPU time"});
  run.purpose = space::Purpose::Verify;
  CHECK(disturbances(run).front() ==
        "other processes, the pair's other side among them where they took turns, took 40 % of the machine");
  CHECK(disturbances(space::Run()).empty());
}

TEST_CASE("a run under much load measured its neighbours, too; a pair's other side is none", "[disturbance]") {
  space::Run run;
  CHECK(under_load(run).empty());
  run.load.other_cpu = 0.2;  // told, and nothing more
  CHECK(under_load(run).empty());
  run.load.other_cpu = 0.4;
  CHECK(under_load(run) == "other processes took 40 % of the machine");
  run.purpose = space::Purpose::Verify;
  CHECK(under_load(run).empty());
  run = {};
  run.load.steal = 0.15;
  CHECK(under_load(run) == "the hypervisor took 15.0 % of the CPU time");
}

}  // namespace nocturne::measure
