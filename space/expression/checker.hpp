#pragma once

/// Builds the checked tree from below: resolves names, checks types, folds constants. Internal to space.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/expression/tree.hpp"

namespace nocturne::space {

/// Whether a name can be a parameter's: letters, digits and underscores, perhaps dotted, and no word of the language.
[[nodiscard]] bool is_parameter_name(std::string_view name);

/// The first error wins; from then on everything returns kNone, which is accepted as a child.
class TreeBuilder {
 public:
  static constexpr NodeIndex kNone = ~NodeIndex{0};

  TreeBuilder(std::string_view text, std::span<const Parameter> parameters, const Facts& facts);

  NodeIndex constant(Operand value, std::uint32_t position);
  NodeIndex text(std::string value, std::uint32_t position);
  NodeIndex name(std::string_view name, std::uint32_t position);
  NodeIndex list(std::vector<NodeIndex> items, std::uint32_t position);
  /// Not, Negate, Plus.
  NodeIndex unary(Operation operation, NodeIndex child, std::uint32_t position);
  /// Arithmetic and comparisons; for `in` give InList: it becomes InText where the right side is a text.
  NodeIndex binary(Operation operation, NodeIndex left, NodeIndex right, std::uint32_t position);
  NodeIndex logical(Operation operation, NodeIndex left, NodeIndex right, std::uint32_t position);
  NodeIndex call(std::string_view function, std::vector<NodeIndex> arguments, std::uint32_t position);

  NodeIndex fail(std::size_t position, std::string message);
  [[nodiscard]] const std::optional<ExpressionError>& error() const { return error_; }
  /// REQUIRES: no error().
  [[nodiscard]] std::shared_ptr<const Expression::Tree> finish(NodeIndex root);

 private:
  NodeIndex fact(const Fact& value, std::uint32_t position);
  NodeIndex push(Node node);
  NodeIndex fold(Node node);
  NodeIndex membership(NodeIndex left, NodeIndex right, std::uint32_t position);
  NodeIndex extreme(Operation operation, std::vector<NodeIndex> arguments, std::uint32_t position);
  bool refuse_list(NodeIndex node);
  bool require(NodeIndex node, TypeMask wanted, std::string_view by, std::uint32_t position);
  bool comparable(NodeIndex left, NodeIndex right, std::uint32_t position);
  [[nodiscard]] const Node& at(NodeIndex index) const { return tree_->nodes[index]; }

  std::span<const Parameter> parameters_;
  const Facts& facts_;
  std::shared_ptr<Expression::Tree> tree_;
  std::vector<NodeIndex> parameter_nodes_;  // by parameter; kNone: not mentioned yet
  std::map<std::string, NodeIndex, std::less<>> fact_nodes_;
  std::optional<ExpressionError> error_;
};

}  // namespace nocturne::space
