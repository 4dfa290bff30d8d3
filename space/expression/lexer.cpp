#include "space/expression/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace nocturne::space {
namespace {

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
    if (result.ec != std::errc{}) {
      return fail(start, real ? "the number is too large or too small" : "the integer does not fit 64 bits");
    }
    return true;
  }

  bool read_text(Token& token) {
    token.kind = Token::Kind::Text;
    const auto start = at_;
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\') {
        token.text += text_[at_++];
      } else if (!read_escape(token.text)) {
        return false;
      }
    }
    if (at_ == text_.size()) return fail(start, fmt::format("the text that begins here has no closing {}", quote));
    ++at_;
    return true;
  }

  bool read_escape(std::string& into) {
    constexpr std::string_view kLetters = "\\'\"nt";
    constexpr std::string_view kMeanings = "\\'\"\n\t";
    const auto which = kLetters.find(peek(1));
    if (at_ + 1 >= text_.size() || which == std::string_view::npos) {
      return fail(at_, R"(after a backslash stands one of \ ' " n t)");
    }
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

}  // namespace

std::expected<std::vector<Token>, ExpressionError> tokenize(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace nocturne::space
