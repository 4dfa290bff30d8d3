#include "space/expression/program.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace nocturne::space {
namespace {

Operand apply(Operation operation, Operand a) {
  switch (operation) {
    case Operation::Not:
      return Operand::of(!a.truth());
    case Operation::Negate:
      return negate(a);
    case Operation::Plus:
      return plus(a);
    case Operation::Absolute:
      return absolute(a);
    default:
      return length(a);
  }
}

/// Python's min and max keep the first of equals.
Operand choose(Operand test, Operand if_true, Operand if_false) {
  if (test.is_failure()) return test;
  return test.truth() ? if_true : if_false;
}

Operand apply(Operation operation, Operand a, Operand b) {
  switch (operation) {
    case Operation::Equal:
      return Operand::of(equals(a, b));
    case Operation::NotEqual:
      return Operand::of(!equals(a, b));
    case Operation::Less:
      return less(a, b);
    case Operation::LessEqual:
      return less_equal(a, b);
    case Operation::Greater:
      return less(b, a);
    case Operation::GreaterEqual:
      return less_equal(b, a);
    case Operation::InText:
      return within(a, b);
    case Operation::Add:
      return add(a, b);
    case Operation::Subtract:
      return subtract(a, b);
    case Operation::Multiply:
      return multiply(a, b);
    case Operation::Divide:
      return divide(a, b);
    case Operation::FloorDivide:
      return floor_divide(a, b);
    case Operation::Modulo:
      return modulo(a, b);
    case Operation::Power:
      return power(a, b);
    case Operation::Minimum:
      return choose(less(b, a), b, a);
    default:  // Maximum
      return choose(less(a, b), b, a);
  }
}

}  // namespace

class Program::Compiler {
 public:
  Compiler(const Expression::Tree& tree, const std::map<NodeIndex, std::uint32_t>& inputs)
      : tree_(tree), inputs_(inputs) {}

  std::optional<Program> run(NodeIndex root) {
    emit(root);
    if (too_large_) return std::nullopt;
    return std::move(program_);
  }

 private:
  /// Leaves the value of the node on top of the stack. A node with two parents is emitted twice, so the length can
  /// grow exponentially with the text; too_large_ stops that.
  void emit(NodeIndex index) {
    if (too_large_) return;
    const auto& node = tree_.nodes[index];
    if (const auto given = inputs_.find(index); given != inputs_.end()) return push(Code::Load, node, given->second);
    switch (node.operation) {
      case Operation::Constant:
        program_.constants_.push_back(node.constant);
        return push(Code::Push, node, static_cast<std::uint32_t>(program_.constants_.size() - 1));
      case Operation::Parameter:
        return push(Code::Load, node, static_cast<std::uint32_t>(node.parameter));
      case Operation::And:
      case Operation::Or:
        return emit_logical(node);
      case Operation::InList:
        return emit_membership(node);
      default:
        return emit_operation(node);
    }
  }

  void emit_logical(const Node& node) {
    emit(node.children[0]);
    const auto jump = program_.instructions_.size();
    add(node.operation == Operation::And ? Code::SkipFalse : Code::SkipTrue, node, 0);
    --depth_;
    emit(node.children[1]);
    land(jump);
  }

  void emit_membership(const Node& node) {
    emit(node.children[0]);
    std::vector<std::size_t> jumps;
    for (const auto item : tree_.nodes[node.children[1]].children) {
      emit(item);
      jumps.push_back(program_.instructions_.size());
      add(Code::Match, node, 0);
      --depth_;
    }
    add(Code::Miss, node, 0);
    for (const auto jump : jumps) land(jump);
  }

  void emit_operation(const Node& node) {
    emit(node.children[0]);
    if (node.operation == Operation::Minimum || node.operation == Operation::Maximum || node.children.size() == 2) {
      for (std::size_t i = 1; i < node.children.size(); ++i) {
        emit(node.children[i]);
        add(Code::Binary, node, 0);
        --depth_;
      }
    } else {
      add(Code::Unary, node, 0);
    }
  }

  void push(Code code, const Node& node, std::uint32_t argument) {
    add(code, node, argument);
    too_large_ = too_large_ || ++depth_ > kMaxStack;
  }

  void add(Code code, const Node& node, std::uint32_t argument) {
    program_.instructions_.push_back({code, node.operation, argument, node.position});
    too_large_ = too_large_ || program_.instructions_.size() > kMaxInstructions;
  }

  void land(std::size_t jump) {
    if (jump < program_.instructions_.size())
      program_.instructions_[jump].argument = static_cast<std::uint32_t>(program_.instructions_.size());
  }

  const Expression::Tree& tree_;
  const std::map<NodeIndex, std::uint32_t>& inputs_;
  Program program_;
  std::size_t depth_ = 0;
  bool too_large_ = false;
};

std::optional<Program> Program::compile(const Expression::Tree& tree, NodeIndex node,
                                        const std::map<NodeIndex, std::uint32_t>& inputs) {
  return Compiler(tree, inputs).run(node);
}

Operand Program::run(const Operand* inputs) const {
  // Raw storage: clearing 256 operands would cost more than most expressions.
  alignas(Operand) std::array<std::byte, kMaxStack * sizeof(Operand)> storage;  // NOLINT: written before it is read
  auto* top = reinterpret_cast<Operand*>(storage.data()) - 1;                   // NOLINT
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    const auto& instruction = instructions_[at];
    switch (instruction.code) {
      case Code::Push:
        std::construct_at(++top, constants_[instruction.argument]);
        break;
      case Code::Load: {
        const Operand value = inputs[instruction.argument];
        if (value.is_nothing() || value.is_failure()) return value;
        std::construct_at(++top, value);
        break;
      }
      case Code::Unary:
        *top = apply(instruction.operation, *top);
        if (top->is_failure()) return top->at(instruction.position);
        break;
      case Code::Binary:
        --top;
        *top = apply(instruction.operation, top[0], top[1]);
        if (top->is_failure()) return top->at(instruction.position);
        break;
      case Code::SkipFalse:
      case Code::SkipTrue:
        if (top->truth() == (instruction.code == Code::SkipTrue))
          at = instruction.argument - 1;
        else
          --top;
        break;
      case Code::Match:
        --top;
        if (equals(top[0], top[1])) {
          *top = Operand::of(true);
          at = instruction.argument - 1;
        }
        break;
      case Code::Miss:
        *top = Operand::of(false);
        break;
    }
  }
  return *top;
}

}  // namespace nocturne::space
