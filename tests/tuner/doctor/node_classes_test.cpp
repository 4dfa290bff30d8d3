#include "tuner/doctor/node_classes.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Names = std::vector<std::string>;

tuner::NodeAnswer answer_of(const std::string& node, const std::string& model) {
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = model});
  return {.node = node, .machine = machine};
}

tuner::ClusterNode node(const std::string& name, const std::string& features, const std::string& state = "idle") {
  return {.name = name, .state = state, .features = features};
}

}  // namespace

TEST_CASE("nodes are divided by what they say, and those that were not asked by what Slurm says of them",
          "[doctor][slurm]") {
  const std::vector nodes = {node("n1", "milan"),          node("n2", "milan", "alloc"), node("n3", "genoa"),
                             node("n4", "genoa", "alloc"), node("n5", "rome", "alloc"),  node("n6", "milan", "down")};
  const auto divided = tuner::divide_nodes(nodes, {answer_of("n1", "A"), answer_of("n3", "B")});
  REQUIRE(divided.classes.size() == 2);
  CHECK(divided.classes[0].nodes == Names{"n1", "n2"});
  CHECK(divided.classes[0].difference.empty());
  CHECK(divided.classes[1].nodes == Names{"n3", "n4"});
  CHECK_THAT(divided.classes[1].difference, ContainsSubstring("cpu.model is 'B', not 'A'"));
  CHECK(divided.unknown == Names{"n5"});
}

TEST_CASE("what Slurm calls alike and is not says nothing of the others", "[doctor][slurm]") {
  const std::vector nodes = {node("n1", "milan"), node("n2", "milan"), node("n3", "milan", "alloc")};
  const auto divided = tuner::divide_nodes(nodes, {answer_of("n1", "A"), answer_of("n2", "B")});
  REQUIRE(divided.classes.size() == 2);
  CHECK(divided.classes[0].nodes == Names{"n1"});
  CHECK(divided.unknown == Names{"n3"});
}

TEST_CASE("the name of a class is that of what must match, whichever node says it", "[doctor][slurm]") {
  const std::vector nodes = {node("n1", "a"), node("n2", "b"), node("n3", "c")};
  const auto before = tuner::divide_nodes(nodes, {answer_of("n1", "A"), answer_of("n2", "B")});
  tuner::NodeAnswer silent{.node = "n1", .reason = "it gave no answer"};
  const auto later = tuner::divide_nodes(nodes, {silent, answer_of("n2", "B"), answer_of("n3", "A")});
  REQUIRE((before.classes.size() == 2 && later.classes.size() == 2));
  CHECK(before.classes[0].name.size() == 6);
  CHECK(before.classes[0].name == later.classes[1].name);
  CHECK(before.classes[1].name == later.classes[0].name);
  CHECK(later.unknown == Names{"n1"});
}

}  // namespace nocturne::test
