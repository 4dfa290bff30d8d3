#include "space/expression/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "space/expression/checker.hpp"
#include "space/expression/expression.hpp"

namespace nocturne::space {
namespace {

// Text of an expression to tokens. Internal to space.

struct Token {
  enum class Kind : std::uint8_t { End, Name, Integer, Real, Text, Symbol };
  Kind kind = Kind::End;
  std::uint32_t position = 0;
  std::string_view spelling;  // as written; a view of the expression's text
  std::int64_t integer = 0;   // Integer
  double real = 0;            // Real
  std::string text;           // Text, escapes resolved
};

// <cctype> depends on the locale; expressions do not.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Longest first, so that "//" is not two divisions.
constexpr std::array<std::string_view, 20> kSymbols = {"**", "//", "<=", ">=", "==", "!=", "<", ">", "+", "-",
                                                       "*",  "/",  "%",  "(",  ")",  "[",  "]", ",", "=", "!"};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::expected<std::vector<Token>, ExpressionError> run() {
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      Token token;
      token.position = static_cast<std::uint32_t>(at_);
      if (at_ == text_.size()) {
        tokens_.push_back(std::move(token));
        return std::move(tokens_);
      }
      if (!read(token)) return std::unexpected(std::move(error_));
      token.spelling = text_.substr(token.position, at_ - token.position);
      tokens_.push_back(std::move(token));
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool fail(std::size_t position, std::string message) {
    error_ = {position, std::move(message)};
    return false;
  }

  bool read(Token& token) {
    const char c = peek();
    if (is_letter(c)) return read_name(token);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number(token);
    if (c == '\'' || c == '"') return read_text(token);
    return read_symbol(token);
  }

  bool read_name(Token& token) {
    token.kind = Token::Kind::Name;
    while (is_letter(peek()) || is_digit(peek()) || (peek() == '.' && is_letter(peek(1)))) ++at_;
    return true;
  }

  bool read_number(Token& token) {
    const auto start = at_;
    const auto digits = [&] {
      while (is_digit(peek())) ++at_;
    };
    digits();
    bool real = false;
    if (peek() == '.') {
      real = true;
      ++at_;
      digits();
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
      real = true;
      at_ += 2;
      digits();
    }
    if (is_letter(peek()) || peek() == '.') return fail(start, "a number ends where a name begins");
    const char* first = text_.data() + start;
    const char* last = text_.data() + at_;
    if (!real && at_ - start > 1 && *first == '0') return fail(start, "an integer does not begin with 0");
    token.kind = real ? Token::Kind::Real : Token::Kind::Integer;
    const auto result = real ? std::from_chars(first, last, token.real) : std::from_chars(first, last, token.integer);
    if (result.ec != std::errc{})
      return fail(start, real ? "the number is too large or too small" : "the integer does not fit 64 bits");
    return true;
  }

  bool read_text(Token& token) {
    token.kind = Token::Kind::Text;
    const auto start = at_;
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote)
      if (text_[at_] != '\\')
        token.text += text_[at_++];
      else if (!read_escape(token.text))
        return false;
    if (at_ == text_.size()) return fail(start, fmt::format("the text that begins here has no closing {}", quote));
    ++at_;
    return true;
  }

  bool read_escape(std::string& into) {
    constexpr std::string_view kLetters = "\\'\"nt";
    constexpr std::string_view kMeanings = "\\'\"\n\t";
    const auto which = kLetters.find(peek(1));
    if (at_ + 1 >= text_.size() || which == std::string_view::npos)
      return fail(at_, R"(after a backslash stands one of \ ' " n t)");
    into += kMeanings[which];
    at_ += 2;
    return true;
  }

  bool read_symbol(Token& token) {
    token.kind = Token::Kind::Symbol;
    const auto rest = text_.substr(at_);
    const auto found =
        std::ranges::find_if(kSymbols, [&](std::string_view symbol) { return rest.starts_with(symbol); });
    if (found != kSymbols.end() && *found != "=" && *found != "!") {
      at_ += found->size();
      return true;
    }
    if (rest.starts_with("=")) return fail(at_, "'=' is no comparison, use '=='");
    if (rest.starts_with("!")) return fail(at_, "'!' stands alone, use 'not' or '!='");
    if (rest.starts_with("&")) return fail(at_, "'&' is not known here, use 'and'");
    if (rest.starts_with("|")) return fail(at_, "'|' is not known here, use 'or'");
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (byte > ' ' && byte < 0x7F) return fail(at_, fmt::format("unexpected '{}'", rest[0]));
    return fail(at_, fmt::format("unexpected byte 0x{:02x}", byte));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
  ExpressionError error_;
};

/// The last token is End. Names include words (and, or, not, in, True, False) and dotted names.
std::expected<std::vector<Token>, ExpressionError> tokenize(std::string_view text) {
  return Lexer(text).run();
}

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
    for (const auto& each : table)
      if (is_symbol(each.spelling)) return each.operation;
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
    if (first.spelling == "True" || first.spelling == "False")
      return tree_.constant(Operand::of(first.spelling == "True"), first.position);
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
