#include "space/expression/expression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "space/expression/parser.hpp"
#include "space/expression/program.hpp"
#include "space/expression/tree.hpp"

namespace nocturne::space {
namespace {

constexpr std::size_t kShownBefore = 60;  // bytes of a long line around the caret
constexpr std::size_t kShownAfter = 40;

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string ExpressionError::excerpt(std::string_view text) const {
  const auto place = std::min(position, text.size());
  const auto newline_before = place == 0 ? std::string_view::npos : text.rfind('\n', place - 1);
  auto first = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  auto last = std::min(text.find('\n', place), text.size());
  const bool cut_before = place - first > kShownBefore;
  const bool cut_after = last - place > kShownAfter;
  if (cut_before) first = place - kShownBefore;
  if (cut_after) last = place + kShownAfter;
  while (first < place && continues_character(text[first])) ++first;
  while (last < text.size() && last > place && continues_character(text[last])) --last;
  std::string line = cut_before ? "… " : "";
  std::size_t column = cut_before ? 2 : 0;
  for (auto i = first; i < last; ++i) {
    line += static_cast<unsigned char>(text[i]) < ' ' ? ' ' : text[i];
    if (i < place && !continues_character(text[i])) ++column;
  }
  if (cut_after) line += " …";
  return line + "\n" + std::string(column, ' ') + "^";
}

std::expected<Expression, ExpressionError> Expression::parse(std::string_view text,
                                                             std::span<const Parameter> parameters,
                                                             const Facts& facts) {
  auto tree = parse_expression(text, parameters, facts);
  if (!tree) return std::unexpected(std::move(tree.error()));
  if (!Program::compile(**tree, (*tree)->root, {}))
    return std::unexpected(ExpressionError{0, "the expression is too complicated; divide it"});
  return Expression(std::move(*tree));
}

const std::string& Expression::text() const {
  return tree_->text;
}

const std::vector<std::size_t>& Expression::mentions() const {
  return tree_->mentions;
}

namespace {

std::expected<Operand, ExpressionError> run(const Expression::Tree& tree, std::span<const Value> values) {
  std::vector<Operand> inputs(values.size());
  for (const auto index : tree.mentions) inputs[index] = Operand::of(values[index]);
  const auto result = Program::compile(tree, tree.root, {})->run(inputs.data());
  if (result.is_failure()) return std::unexpected(ExpressionError{result.position(), to_text(result.failure())});
  return result;
}

}  // namespace

std::expected<Value, ExpressionError> Expression::evaluate(std::span<const Value> values) const {
  const auto result = run(*tree_, values);
  if (!result) return std::unexpected(result.error());
  return result->value();
}

std::expected<bool, ExpressionError> Expression::holds(std::span<const Value> values) const {
  const auto result = run(*tree_, values);
  if (!result) return std::unexpected(result.error());
  return result->truth();
}

}  // namespace nocturne::space
