#include "space/expression/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "space/expression/program.hpp"
#include "space/nearest.hpp"

namespace nocturne::space {
namespace {

constexpr std::array<std::string_view, 10> kWords = {"and",   "or",  "not", "in",  "True",
                                                     "False", "min", "max", "abs", "len"};

TypeMask mask_of(const Value& value) {
  constexpr std::array<TypeMask, 4> kMasks = {kBool, kInt, kFloat, kText};
  return kMasks[value.index()];
}

TypeMask mask_of(const Parameter& parameter) {
  if (parameter.kind == Kind::Integer) return kInt;
  if (parameter.kind == Kind::Real) return kFloat;
  TypeMask mask = 0;
  for (const auto& value : parameter.values) mask |= mask_of(value);
  return mask;
}

std::string describe(TypeMask mask) {
  if ((mask & kList) != 0) return "a list";
  if (mask == kText) return "a text";
  if ((mask & kText) == 0) return "a number";
  return "a text or a number";
}

std::string_view symbol_of(Operation operation) {
  switch (operation) {
    case Operation::Add:
    case Operation::Plus:
      return "'+'";
    case Operation::Subtract:
    case Operation::Negate:
      return "'-'";
    case Operation::Multiply:
      return "'*'";
    case Operation::Divide:
      return "'/'";
    case Operation::FloorDivide:
      return "'//'";
    case Operation::Modulo:
      return "'%'";
    default:
      return "'**'";
  }
}

bool is_comparison(Operation operation) {
  return operation >= Operation::Equal && operation <= Operation::GreaterEqual;
}

TypeMask arithmetic_types(Operation operation, TypeMask a, TypeMask b) {
  if (operation == Operation::Divide) return kFloat;
  TypeMask result = 0;
  if ((a & (kBool | kInt)) != 0 && (b & (kBool | kInt)) != 0) result |= kInt;
  if (((a | b) & kFloat) != 0 || operation == Operation::Power) result |= kFloat;
  return result;
}

}  // namespace

bool is_parameter_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool at_start = true;
  for (const char c : name) {
    if (c == '.') {
      if (at_start) return false;
      at_start = true;
    } else if (letter(c) || (!at_start && c >= '0' && c <= '9')) {
      at_start = false;
    } else {
      return false;
    }
  }
  return !at_start && std::ranges::find(kWords, name) == kWords.end();
}

TreeBuilder::TreeBuilder(std::string_view text, std::span<const Parameter> parameters, const Facts& facts)
    : parameters_(parameters),
      facts_(facts),
      tree_(std::make_shared<Expression::Tree>()),
      parameter_nodes_(parameters.size(), kNone) {
  tree_->text = text;
}

NodeIndex TreeBuilder::fail(std::size_t position, std::string message) {
  if (!error_) error_ = ExpressionError{position, std::move(message)};
  return kNone;
}

NodeIndex TreeBuilder::push(Node node) {
  if (error_) return kNone;
  if (tree_->nodes.size() >= Expression::kMaxNodes)
    return fail(node.position, fmt::format("the expression has more than {} parts", Expression::kMaxNodes));
  for (const auto child : node.children) node.may_fail = node.may_fail || at(child).may_fail;
  tree_->nodes.push_back(std::move(node));
  return static_cast<NodeIndex>(tree_->nodes.size() - 1);
}

NodeIndex TreeBuilder::fold(Node node) {
  const auto is_constant = [&](NodeIndex child) {
    const auto& each = at(child);
    return each.operation == Operation::Constant ||
           (each.operation == Operation::List && std::ranges::all_of(each.children, [&](NodeIndex item) {
              return at(item).operation == Operation::Constant;
            }));
  };
  const bool constant_children = !error_ && std::ranges::all_of(node.children, is_constant);
  const auto position = node.position;
  const auto index = push(std::move(node));
  if (index == kNone || !constant_children) return index;
  const auto program = Program::compile(*tree_, index, {});
  // What fails stays as it is: it may stand where it is never evaluated.
  const auto value = program ? program->run({}) : Operand();
  if (value.is_nothing() || value.is_failure()) return index;
  return constant(value, position);
}

NodeIndex TreeBuilder::constant(Operand value, std::uint32_t position) {
  Node node;
  node.constant = value;
  node.position = position;
  switch (value.type()) {
    case Operand::Type::Bool:
      node.types = kBool;
      break;
    case Operand::Type::Int:
      node.types = kInt;
      break;
    case Operand::Type::Float:
      node.types = kFloat;
      break;
    default:
      node.types = kText;
  }
  return push(std::move(node));
}

NodeIndex TreeBuilder::text(std::string value, std::uint32_t position) {
  tree_->strings.push_back(std::move(value));
  return constant(Operand::of(&tree_->strings.back()), position);
}

NodeIndex TreeBuilder::name(std::string_view name, std::uint32_t position) {
  if (error_) return kNone;
  const auto parameter = std::ranges::find(parameters_, name, &Parameter::name);
  if (parameter != parameters_.end()) {
    const auto which = static_cast<std::size_t>(parameter - parameters_.begin());
    auto& node = parameter_nodes_[which];
    if (node == kNone) {
      node = push(
          {.operation = Operation::Parameter, .types = mask_of(*parameter), .position = position, .parameter = which});
    }
    return node;
  }
  if (const auto* known_fact = facts_.find(name)) {
    // One node a fact: lists of a hundred ISA flags would soon reach the limit.
    const auto [place, is_new] = fact_nodes_.try_emplace(std::string(name), kNone);
    if (is_new) place->second = fact(*known_fact, position);
    return place->second;
  }
  std::vector<std::string> known;
  for (const auto& each : parameters_) known.push_back(each.name);
  for (const auto& [fact_name, value] : facts_.all()) known.push_back(fact_name);
  return fail(position, fmt::format("unknown name '{}'{}", name, did_you_mean(name, known)));
}

NodeIndex TreeBuilder::fact(const Fact& value, std::uint32_t position) {
  if (const auto* string = std::get_if<std::string>(&value)) return text(*string, position);
  if (const auto* flag = std::get_if<bool>(&value)) return constant(Operand::of(*flag), position);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return constant(Operand::of(*integer), position);
  if (const auto* real = std::get_if<double>(&value)) return constant(Operand::of(*real), position);
  std::vector<NodeIndex> items;
  for (const auto& each : std::get<std::vector<std::string>>(value)) items.push_back(text(each, position));
  return list(std::move(items), position);
}

NodeIndex TreeBuilder::list(std::vector<NodeIndex> items, std::uint32_t position) {
  for (const auto item : items)
    if (item == kNone || !refuse_list(item)) return kNone;
  return push({.operation = Operation::List, .types = kList, .position = position, .children = std::move(items)});
}

bool TreeBuilder::refuse_list(NodeIndex node) {
  if (error_) return false;
  if ((at(node).types & kList) == 0) return true;
  fail(at(node).position, "a list can stand only right of 'in' and in min, max and len");
  return false;
}

bool TreeBuilder::require(NodeIndex node, TypeMask wanted, std::string_view by, std::uint32_t position) {
  if (error_ || !refuse_list(node)) return false;
  if ((at(node).types & wanted) != 0) return true;
  fail(position, fmt::format("{} needs {}, here is {}", by, describe(wanted), describe(at(node).types)));
  return false;
}

bool TreeBuilder::comparable(NodeIndex left, NodeIndex right, std::uint32_t position) {
  const auto a = at(left).types;
  const auto b = at(right).types;
  if (((a & kNumber) != 0 && (b & kNumber) != 0) || ((a & kText) != 0 && (b & kText) != 0)) return true;
  fail(position, fmt::format("{} is compared with {}", describe(a), describe(b)));
  return false;
}

NodeIndex TreeBuilder::unary(Operation operation, NodeIndex child, std::uint32_t position) {
  if (error_) return kNone;
  Node node{.operation = operation, .position = position, .children = {child}};
  if (operation == Operation::Not) {
    if (!refuse_list(child)) return kNone;
    node.types = kBool;
  } else {
    if (!require(child, kNumber, symbol_of(operation), position)) return kNone;
    node.types = at(child).types & kFloat;
    if ((at(child).types & (kBool | kInt)) != 0) node.types |= kInt;
    node.may_fail = true;
  }
  return fold(std::move(node));
}

NodeIndex TreeBuilder::binary(Operation operation, NodeIndex left, NodeIndex right, std::uint32_t position) {
  if (error_) return kNone;
  if (operation == Operation::InList) return membership(left, right, position);
  if (!refuse_list(left) || !refuse_list(right)) return kNone;
  Node node{.operation = operation, .position = position, .children = {left, right}};
  const auto a = at(left).types;
  const auto b = at(right).types;
  if (is_comparison(operation)) {
    if (!comparable(left, right, position)) return kNone;
    node.types = kBool;
    const bool one_kind = ((a | b) & kText) == 0 || (a | b) == kText;
    node.may_fail = !one_kind && operation != Operation::Equal && operation != Operation::NotEqual;
  } else {
    if (!require(left, kNumber, symbol_of(operation), position)) return kNone;
    if (!require(right, kNumber, symbol_of(operation), position)) return kNone;
    node.types = arithmetic_types(operation, a, b);
    node.may_fail = true;
  }
  return fold(std::move(node));
}

NodeIndex TreeBuilder::membership(NodeIndex left, NodeIndex right, std::uint32_t position) {
  if (!refuse_list(left)) return kNone;
  Node node{.operation = Operation::InList, .types = kBool, .position = position, .children = {left, right}};
  if (at(right).operation == Operation::List) {
    for (const auto item : at(right).children)
      if (!comparable(left, item, at(item).position)) return kNone;
    return fold(std::move(node));
  }
  if (!require(right, kText, "the right side of 'in', where it is no list,", position)) return kNone;
  if (!require(left, kText, "'in' a text", position)) return kNone;
  node.operation = Operation::InText;
  node.may_fail = at(left).types != kText || at(right).types != kText;
  return fold(std::move(node));
}

NodeIndex TreeBuilder::logical(Operation operation, NodeIndex left, NodeIndex right, std::uint32_t position) {
  if (error_ || !refuse_list(left) || !refuse_list(right)) return kNone;
  if (at(left).operation == Operation::Constant)
    return at(left).constant.truth() == (operation == Operation::And) ? right : left;
  const auto types = static_cast<TypeMask>(at(left).types | at(right).types);
  return push({.operation = operation, .types = types, .position = position, .children = {left, right}});
}

NodeIndex TreeBuilder::call(std::string_view function, std::vector<NodeIndex> arguments, std::uint32_t position) {
  if (error_) return kNone;
  if (function == "min") return extreme(Operation::Minimum, std::move(arguments), position);
  if (function == "max") return extreme(Operation::Maximum, std::move(arguments), position);
  if (function != "abs" && function != "len") {
    const std::array<std::string, 4> known = {"min", "max", "abs", "len"};
    return fail(position,
                fmt::format("unknown function '{}'{} (min, max, abs, len)", function, did_you_mean(function, known)));
  }
  if (arguments.size() != 1)
    return fail(position, fmt::format("{} takes one argument, not {}", function, arguments.size()));
  const auto argument = arguments[0];
  if (function == "len" && at(argument).operation == Operation::List)
    return constant(Operand::of(static_cast<std::int64_t>(at(argument).children.size())), position);
  const bool absolute = function == "abs";
  if (!require(argument, absolute ? kNumber : kText, function, position)) return kNone;
  Node node{.operation = absolute ? Operation::Absolute : Operation::Length,
            .types = absolute ? static_cast<TypeMask>((at(argument).types & kFloat) | kInt) : kInt,
            .may_fail = absolute || at(argument).types != kText,
            .position = position,
            .children = std::move(arguments)};
  return fold(std::move(node));
}

NodeIndex TreeBuilder::extreme(Operation operation, std::vector<NodeIndex> arguments, std::uint32_t position) {
  const std::string_view name = operation == Operation::Minimum ? "min" : "max";
  if (arguments.size() == 1) {
    if (at(arguments[0]).operation != Operation::List)
      return fail(position, fmt::format("{} of one argument needs a list", name));
    arguments = std::vector(at(arguments[0]).children);
  }
  if (arguments.empty()) return fail(position, fmt::format("{} of nothing", name));
  Node node{.operation = operation, .position = position, .children = arguments};
  for (const auto argument : arguments) {
    if (!refuse_list(argument) || !comparable(arguments[0], argument, at(argument).position)) return kNone;
    node.types |= at(argument).types;
  }
  node.may_fail = (node.types & kText) != 0 && node.types != kText;
  return fold(std::move(node));
}

std::shared_ptr<const Expression::Tree> TreeBuilder::finish(NodeIndex root) {
  if (!refuse_list(root)) return nullptr;
  tree_->root = root;
  for (std::size_t i = 0; i < parameter_nodes_.size(); ++i)
    if (parameter_nodes_[i] != kNone) tree_->mentions.push_back(i);
  return tree_;
}

}  // namespace nocturne::space
