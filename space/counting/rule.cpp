#include "space/counting/rule.hpp"

#include <algorithm>

namespace nocturne::space {
namespace {

Rule make_rule(const Expression::Tree& tree, NodeIndex root, const std::vector<bool>& conditional) {
  Rule rule{.tree = &tree, .root = root, .reads = {}, .guards = {}, .activates = std::nullopt};
  for (const auto index : nodes_below(tree, root)) {
    const auto& node = tree.nodes[index];
    if (node.operation == Operation::Parameter) rule.reads.push_back(node.parameter);
  }
  std::ranges::copy_if(tree.mentions, std::back_inserter(rule.guards),
                       [&](std::size_t each) { return conditional[each]; });
  return rule;
}

}  // namespace

std::vector<NodeIndex> nodes_below(const Expression::Tree& tree, NodeIndex root) {
  std::vector<bool> reached(root + std::size_t{1}, false);
  reached[root] = true;
  for (auto index = root + std::size_t{1}; index-- > 0;) {
    if (!reached[index]) continue;
    for (const auto child : tree.nodes[index].children) reached[child] = true;
  }
  std::vector<NodeIndex> result;
  for (NodeIndex index = 0; index <= root; ++index)
    if (reached[index]) result.push_back(index);
  return result;
}

std::vector<Rule> constraint_rules(const Expression::Tree& tree, std::size_t constraint,
                                   const std::vector<bool>& conditional) {
  std::vector<Rule> rules;
  std::vector<NodeIndex> pending = {tree.root};
  while (!pending.empty()) {
    const auto index = pending.back();
    pending.pop_back();
    if (const auto& node = tree.nodes[index]; node.operation == Operation::And) {
      pending.push_back(node.children[1]);
      pending.push_back(node.children[0]);
      continue;
    }
    rules.push_back(make_rule(tree, index, conditional));
    rules.back().constraint = constraint;
  }
  return rules;
}

Rule activity_rule(const Expression::Tree& tree, std::size_t parameter, const std::vector<bool>& conditional) {
  auto rule = make_rule(tree, tree.root, conditional);
  rule.activates = parameter;
  return rule;
}

}  // namespace nocturne::space
