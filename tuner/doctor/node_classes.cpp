#include "tuner/doctor/node_classes.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tuner/executor/machine_difference.hpp"

namespace nocturne::tuner {
namespace {

constexpr std::size_t kNameDigits = 6;

}  // namespace

std::vector<std::size_t> classes_of(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> keys;
  std::vector<std::size_t> classes;
  for (const NodeAnswer& answer : answers) {
    if (!answer.machine) {
      classes.push_back(0);
      continue;
    }
    const std::string key = answer.machine->key();
    const auto known = std::ranges::find(keys, key);
    classes.push_back(static_cast<std::size_t>(known - keys.begin()) + 1);
    if (known == keys.end()) keys.push_back(key);
  }
  return classes;
}

NodeClasses divide_nodes(const std::vector<ClusterNode>& nodes, const std::vector<NodeAnswer>& answers) {
  const auto numbers = classes_of(answers);
  NodeClasses divided;
  const NodeAnswer* first = nullptr;
  std::map<std::string, std::size_t> by_name;              // node → its class
  std::map<std::string, std::set<std::size_t>> of_kind{};  // what Slurm says of a node → classes
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const NodeAnswer& answer = answers[i];
    if (first == nullptr) first = &answer;
    by_name[answer.node] = numbers[i];
    if (const auto node = std::ranges::find(nodes, answer.node, &ClusterNode::name); node != nodes.end())
      of_kind[node->kind()].insert(numbers[i]);
    if (numbers[i] <= divided.classes.size()) continue;
    divided.classes.push_back({.name = answer.machine->key().substr(0, kNameDigits),
                               .difference = difference_words(*first->machine, *answer.machine)});
  }
  for (const ClusterNode& node : nodes) {
    if (const auto asked = by_name.find(node.name); asked != by_name.end()) {
      divided.classes[asked->second - 1].nodes.push_back(node.name);
    } else if (node.is_up()) {
      const auto& like_it = of_kind[node.kind()];
      (like_it.size() == 1 ? divided.classes[*like_it.begin() - 1].nodes : divided.unknown).push_back(node.name);
    }
  }
  std::erase_if(divided.classes, [](const NodeClass& each) { return each.nodes.empty(); });
  return divided;
}

}  // namespace nocturne::tuner
