#include "measure/topology/topology.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "measure/run/launch.hpp"
#include "measure/run/placement.hpp"

namespace nocturne::measure {
namespace {

/// Two performance cores of two threads (CPUs 0 to 3), four efficient ones (4 to 7).
Topology hybrid() {
  return read_topology({.xml = NOCTURNE_TOPOLOGIES "/hybrid.xml"});
}

/// A server of two sockets: a memory node each, two L3 caches each, four cores a cache, two threads a core. The second
/// threads are numbered behind all first ones, as usual.
Topology server() {
  std::string indexes;
  for (int core = 0; core < 16; ++core)
    indexes += (core == 0 ? "" : ",") + std::to_string(core) + "," + std::to_string(core + 16);
  return read_topology({.synthetic = "pack:2 [numa] l3:2(size=33554432) core:4 pu:2(indexes=" + indexes + ")"});
}

using Cpus = std::vector<int>;

}  // namespace

TEST_CASE("a server of two sockets is read with its cores, caches and memory nodes", "[topology]") {
  const Topology topology = server();
  REQUIRE(topology.cpus.size() == 32);
  CHECK(topology.packages == 2);
  CHECK(topology.cores == 16);
  CHECK(topology.nodes == 2);
  CHECK(topology.caches == std::vector<Cache>{{3, "Unified", 33554432, 4}});
  CHECK(topology.cpus[0] == LogicalCpu{.cpu = 0, .core = 0, .package = 0, .l3 = 0, .node = 0});
  CHECK(topology.cpus[21] == LogicalCpu{.cpu = 21, .core = 5, .package = 0, .l3 = 1, .node = 0});
  CHECK(topology.cpus[31] == LogicalCpu{.cpu = 31, .core = 15, .package = 1, .l3 = 3, .node = 1});
  CHECK(cores_by_kind(topology.cpus) == std::vector{16});
}

TEST_CASE("fast cores of a hybrid processor are told from slower ones", "[topology]") {
  const Topology topology = hybrid();
  REQUIRE(topology.cpus.size() == 8);
  CHECK(topology.cores == 6);
  CHECK(cores_by_kind(topology.cpus) == std::vector{2, 4});
  for (const LogicalCpu& cpu : topology.cpus) CHECK(cpu.kind == (cpu.cpu < 4 ? 0 : 1));
  CHECK(cores_by_kind(places_of(topology, Cpus{0, 1, 4, 5})) == std::vector{1, 2});
}

TEST_CASE("a description that nobody can read is an empty machine", "[topology]") {
  CHECK(read_topology({.synthetic = "nonsense"}).cpus.empty());
  CHECK(read_topology({.xml = "/no/such/file.xml"}).cpus.empty());
  const auto places = places_of({}, Cpus{3, 7});
  REQUIRE(places.size() == 2);
  CHECK(places[1].cpu == 7);
  CHECK(cores_by_kind(places) == std::vector{2});
}

TEST_CASE("this machine's CPUs are those that the kernel lets this process use, and more at most", "[topology]") {
  const Topology topology = read_topology();
  CHECK(topology.cores > 0);
  CHECK(topology.nodes > 0);
  for (const LogicalCpu& allowed : probe_launch_machine().allowed)
    CHECK(std::ranges::find(topology.cpus, allowed.cpu, &LogicalCpu::cpu) != topology.cpus.end());
}

TEST_CASE("one L3 cache or memory node is filled before the next, each core once before its second thread",
          "[topology]") {
  const auto cpus = server().cpus;
  CHECK(filled_domains(cpus, 4, &LogicalCpu::l3) == Cpus{0, 1, 2, 3});
  CHECK(filled_domains(cpus, 6, &LogicalCpu::l3) == Cpus{0, 1, 2, 3, 16, 17});
  CHECK(filled_domains(cpus, 9, &LogicalCpu::l3) == Cpus{0, 1, 2, 3, 16, 17, 18, 19, 4});
  CHECK(filled_domains(cpus, 9, &LogicalCpu::node) == Cpus{0, 1, 2, 3, 4, 5, 6, 7, 16});
  CHECK(filled_domains(cpus, 99, &LogicalCpu::node).size() == 32);
  // A cache of which a part alone may be used comes after one that is whole.
  const auto some = places_of(server(), Cpus{0, 1, 4, 5, 6, 7});
  CHECK(filled_domains(some, 3, &LogicalCpu::l3) == Cpus{4, 5, 6});
}

TEST_CASE("fast cores are taken before slower ones", "[topology]") {
  const auto cpus = hybrid().cpus;
  CHECK(neighbouring_cpus(cpus, 5) == Cpus{0, 1, 2, 3, 4});
  CHECK(distant_cpus(cpus, 2) == Cpus{0, 2});
  CHECK(distant_cpus(cpus, 3) == Cpus{0, 2, 4});  // a core of its own is better than a second thread
  CHECK(distant_cpus(cpus, 7) == Cpus{0, 2, 4, 5, 6, 7, 1});
  CHECK(filled_domains(cpus, 3, &LogicalCpu::l3) == Cpus{0, 2, 4});
}

TEST_CASE("only what differs on a machine is offered", "[topology]") {
  using Words = std::vector<std::string>;
  const auto machine = [](const std::string& synthetic) {
    return LaunchMachine{.allowed = read_topology({.synthetic = synthetic}).cpus, .find_library = {}};
  };
  const LaunchMachine laptop = machine("pack:1 l3:1 core:4 pu:2"), two = machine("pack:2 [numa] l3:1 core:4 pu:1");
  CHECK(distinct_affinities(laptop) == Words{"none", "close", "spread"});
  CHECK(distinct_memory_policies(laptop).empty());
  CHECK(distinct_affinities(two) == Words{"none", "close", "spread", "l3"});  // a node is its cache
  CHECK(distinct_memory_policies(two) == Words{"local", "interleave", "bind"});
  CHECK(distinct_affinities({.allowed = server().cpus, .find_library = {}}) ==
        Words{"none", "close", "spread", "l3", "numa"});
}

}  // namespace nocturne::measure
