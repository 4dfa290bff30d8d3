#pragma once

/// The checked form of an expression: nodes in an array, children before parents. Internal to space.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "space/expression/expression.hpp"
#include "space/expression/operand.hpp"

namespace nocturne::space {

enum class Operation : std::uint8_t {
  Constant,
  Parameter,
  List,  // only as second child of InList
  Not,
  Negate,
  Plus,
  Absolute,
  Length,
  And,
  Or,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  InText,
  InList,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Minimum,  // of its children, one or more
  Maximum,
};

/// The types that a value may have, one bit each.
using TypeMask = std::uint8_t;
inline constexpr TypeMask kBool = 1;
inline constexpr TypeMask kInt = 2;
inline constexpr TypeMask kFloat = 4;
inline constexpr TypeMask kText = 8;
inline constexpr TypeMask kList = 16;
inline constexpr TypeMask kNumber = kBool | kInt | kFloat;

using NodeIndex = std::uint32_t;

struct Node {
  Operation operation = Operation::Constant;
  TypeMask types = 0;
  bool may_fail = false;       // its evaluation could fail for some values
  std::uint32_t position = 0;  // in the text, of the operator
  std::vector<NodeIndex> children{};
  Operand constant{};         // Constant
  std::size_t parameter = 0;  // Parameter: index in the list it was checked against
};

/// A directed graph without cycles: the middle of a chained comparison has two parents, a parameter has one node.
struct Expression::Tree {
  std::string text;
  std::vector<Node> nodes;
  NodeIndex root = 0;
  std::vector<std::size_t> mentions;  // every parameter named in the text, ascending, read or folded away
  std::deque<std::string> strings;    // what text constants point to; a deque keeps addresses
};

}  // namespace nocturne::space
