#include "space/expression/parser.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "space/expression/checker.hpp"
#include "space/expression/lexer.hpp"

namespace nocturne::space {
namespace {

using TokenKind = Token::Kind;

struct Operator {
  std::string_view spelling;
  Operation operation;
};

constexpr std::array<Operator, 6> kComparisons = {{{"==", Operation::Equal},
                                                   {"!=", Operation::NotEqual},
                                                   {"<", Operation::Less},
                                                   {"<=", Operation::LessEqual},
                                                   {">", Operation::Greater},
                                                   {">=", Operation::GreaterEqual}}};
constexpr std::array<Operator, 2> kSums = {{{"+", Operation::Add}, {"-", Operation::Subtract}}};
constexpr std::array<Operator, 4> kProducts = {
    {{"*", Operation::Multiply}, {"/", Operation::Divide}, {"//", Operation::FloorDivide}, {"%", Operation::Modulo}}};
constexpr std::array<Operator, 2> kSigns = {{{"+", Operation::Plus}, {"-", Operation::Negate}}};

/// After the first error the current token stays End, so every loop ends and every function returns.
class Parser {
 public:
  Parser(std::vector<Token> tokens, TreeBuilder& tree) : tokens_(std::move(tokens)), tree_(tree) {}

  NodeIndex run() {
    if (token().kind == TokenKind::End) return tree_.fail(0, "the expression is empty");
    const auto root = disjunction();
    if (!failed() && token().kind != TokenKind::End) return unexpected("an operator or the end");
    return root;
  }

 private:
  /// Counts levels of nesting while it lives; without a limit hostile input would exhaust the stack.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > Expression::kMaxDepth) {
        parser_.tree_.fail(parser_.token().position,
                           fmt::format("nested more than {} levels deep", Expression::kMaxDepth));
      }
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  bool failed() const { return tree_.error().has_value(); }
  const Token& token() const { return failed() ? tokens_.back() : tokens_[at_]; }
  Token take() { return std::move(tokens_[at_++]); }
  bool is(TokenKind kind, std::string_view spelling) const {
    return token().kind == kind && token().spelling == spelling;
  }
  bool is_symbol(std::string_view spelling) const { return is(TokenKind::Symbol, spelling); }
  bool is_word(std::string_view spelling) const { return is(TokenKind::Name, spelling); }

  template <std::size_t N>
  std::optional<Operation> operation_in(const std::array<Operator, N>& table) const {
    for (const auto& each : table) {
      if (is_symbol(each.spelling)) return each.operation;
    }
    return std::nullopt;
  }

  NodeIndex unexpected(std::string_view wanted) {
    const auto& found = token();
    if (found.kind == TokenKind::End)
      return tree_.fail(found.position, fmt::format("the expression ends where {} is needed", wanted));
    if (is_word("is")) return tree_.fail(found.position, "'is' is not known here, use '=='");
    if (is_word("if")) return tree_.fail(found.position, "'if' is not known here, use 'and' and 'or'");
    return tree_.fail(found.position, fmt::format("'{}' stands where {} is needed", found.spelling, wanted));
  }

  NodeIndex disjunction() {
    auto left = conjunction();
    while (is_word("or")) {
      const auto position = take().position;
      left = tree_.logical(Operation::Or, left, conjunction(), position);
    }
    return left;
  }

  NodeIndex conjunction() {
    auto left = negation();
    while (is_word("and")) {
      const auto position = take().position;
      left = tree_.logical(Operation::And, left, negation(), position);
    }
    return left;
  }

  NodeIndex negation() {
    if (!is_word("not")) return comparison();
    const Level level(*this);
    if (failed()) return TreeBuilder::kNone;
    const auto position = take().position;
    return tree_.unary(Operation::Not, negation(), position);
  }

  /// a < b < c is (a < b) and (b < c) with one b.
  NodeIndex comparison() {
    auto left = sum();
    std::optional<NodeIndex> chain;
    for (;;) {
      const auto position = token().position;
      const auto symbol = operation_in(kComparisons);
      const bool negated = !symbol && is_word("not");
      if (!symbol && !negated && !is_word("in")) return chain.value_or(left);
      take();
      if (negated && !is_word("in")) return unexpected("'in'");
      if (negated) take();
      const auto right = sum();
      auto link = tree_.binary(symbol.value_or(Operation::InList), left, right, position);
      if (negated) link = tree_.unary(Operation::Not, link, position);
      chain = chain ? tree_.logical(Operation::And, *chain, link, position) : link;
      left = right;
    }
  }

  NodeIndex sum() {
    auto left = product();
    while (const auto operation = operation_in(kSums)) {
      const auto position = take().position;
      left = tree_.binary(*operation, left, product(), position);
    }
    return left;
  }

  NodeIndex product() {
    auto left = sign();
    while (const auto operation = operation_in(kProducts)) {
      const auto position = take().position;
      left = tree_.binary(*operation, left, sign(), position);
    }
    return left;
  }

  NodeIndex sign() {
    const auto operation = operation_in(kSigns);
    if (!operation) return power();
    const Level level(*this);
    if (failed()) return TreeBuilder::kNone;
    const auto position = take().position;
    return tree_.unary(*operation, sign(), position);
  }

  NodeIndex power() {
    const auto base = atom();
    if (!is_symbol("**")) return base;
    const Level level(*this);
    if (failed()) return TreeBuilder::kNone;
    const auto position = take().position;
    return tree_.binary(Operation::Power, base, sign(), position);
  }

  NodeIndex atom() {
    if (is_symbol("(") || is_symbol("[")) return bracketed();
    if (token().kind == TokenKind::End || token().kind == TokenKind::Symbol) return unexpected("a value");
    const bool word =
        is_word("and") || is_word("or") || is_word("not") || is_word("in") || is_word("is") || is_word("if");
    if (word) return unexpected("a value");
    const auto first = take();
    switch (first.kind) {
      case TokenKind::Integer:
        return tree_.constant(Operand::of(first.integer), first.position);
      case TokenKind::Real:
        return tree_.constant(Operand::of(first.real), first.position);
      case TokenKind::Text:
        return tree_.text(first.text, first.position);
      default:
        break;
    }
    if (first.spelling == "True" || first.spelling == "False") {
      return tree_.constant(Operand::of(first.spelling == "True"), first.position);
    }
    if (!is_symbol("(")) return tree_.name(first.spelling, first.position);
    const Level level(*this);
    if (failed()) return TreeBuilder::kNone;
    take();
    auto arguments = items(")").first;
    return tree_.call(first.spelling, std::move(arguments), first.position);
  }

  NodeIndex bracketed() {
    const Level level(*this);
    if (failed()) return TreeBuilder::kNone;
    const auto open = take();
    const bool square = open.spelling == "[";
    auto [inside, comma] = items(square ? "]" : ")");
    if (failed()) return TreeBuilder::kNone;
    if (square || comma) return tree_.list(std::move(inside), open.position);
    if (inside.empty()) return tree_.fail(open.position, "nothing stands between these parentheses");
    return inside[0];
  }

  /// Up to and with the closing bracket; whether there was a comma.
  std::pair<std::vector<NodeIndex>, bool> items(std::string_view close) {
    std::vector<NodeIndex> result;
    bool comma = false;
    while (!failed() && !is_symbol(close)) {
      result.push_back(disjunction());
      if (is_symbol(",")) {
        comma = true;
        take();
      } else if (!failed() && !is_symbol(close)) {
        unexpected(fmt::format("',' or '{}'", close));
      }
    }
    if (!failed()) take();
    return {std::move(result), comma};
  }

  std::vector<Token> tokens_;
  TreeBuilder& tree_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

std::expected<std::shared_ptr<const Expression::Tree>, ExpressionError> parse_expression(
    std::string_view text, std::span<const Parameter> parameters, const Facts& facts) {
  if (text.size() > Expression::kMaxLength) {
    return std::unexpected(ExpressionError{
        Expression::kMaxLength, fmt::format("the expression is longer than {} bytes", Expression::kMaxLength)});
  }
  auto tokens = tokenize(text);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  TreeBuilder builder(text, parameters, facts);
  const auto root = Parser(std::move(*tokens), builder).run();
  auto tree = builder.error() ? nullptr : builder.finish(root);
  if (builder.error()) return std::unexpected(*builder.error());
  return tree;
}

}  // namespace nocturne::space
