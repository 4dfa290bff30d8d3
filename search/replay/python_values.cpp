#include "search/replay/python_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "search/replay/foreign_rows.hpp"
#include "search/replay/text_file.hpp"
#include "space/expression/expression.hpp"
#include "space/facts.hpp"
#include "space/parameter.hpp"

namespace nocturne::search::replay {
namespace {

constexpr std::size_t kMaxNesting = 8;

using Values = std::vector<space::Value>;

/// Offsets in the whole text, so that errors can name a place.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Throws PythonError.
  Values read() { return iterable(trimmed({0, text_.size()}), 0); }

 private:
  [[noreturn]] static void wrong(std::size_t position, std::string message) {
    throw PythonError{position, std::move(message)};
  }

  std::string_view of(Part part) const { return text_.substr(part.begin, part.end - part.begin); }

  static bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  Part trimmed(Part part) const {
    while (part.begin < part.end && is_space(text_[part.begin])) ++part.begin;
    while (part.end > part.begin && is_space(text_[part.end - 1])) --part.end;
    return part;
  }

  Values iterable(Part part, std::size_t depth) {
    if (depth > kMaxNesting) wrong(part.begin, fmt::format("brackets are nested more than {} deep", kMaxNesting));
    const auto body = of(part);
    if (body.empty()) wrong(part.begin, "a list is expected here");
    if (body.front() == '[' || body.front() == '(') {
      if (body.back() != (body.front() == '[' ? ']' : ')') || closing(part) != part.end - 1)
        wrong(part.begin, "this bracket is not closed at the end");
      return items({part.begin + 1, part.end - 1}, depth);
    }
    for (const std::string_view name : {"list", "tuple", "sorted"})
      if (const auto inside = argument_of(part, name)) return iterable(trimmed(*inside), depth + 1);
    if (const auto inside = argument_of(part, "range")) return range(*inside);
    wrong(part.begin, fmt::format("found '{}', not a list, a tuple or a range", excerpt(body, 40)));
  }

  /// What is between the brackets of name( … ), where that is all of it.
  std::optional<Part> argument_of(Part part, std::string_view name) const {
    const auto body = of(part);
    if (!body.starts_with(name)) return std::nullopt;
    auto open = part.begin + name.size();
    while (open < part.end && is_space(text_[open])) ++open;
    if (open >= part.end || text_[open] != '(') return std::nullopt;
    if (closing({open, part.end}) != part.end - 1) wrong(open, "this bracket is not closed at the end");
    return Part{open + 1, part.end - 1};
  }

  /// Where the bracket at part.begin closes; part.end where it does not.
  std::size_t closing(Part part) const {
    std::size_t found = part.end;
    walk(part, [&](std::size_t at, std::size_t depth) {
      if (depth == 0 && at > part.begin) found = at;
      return found == part.end;
    });
    return found;
  }

  /// Calls visit(offset, depth after it) for every character outside of quotes, until it returns false.
  template <class Visit>
  void walk(Part part, Visit visit) const {
    std::size_t depth = 0;
    char quote = 0;
    for (auto at = part.begin; at < part.end; ++at) {
      const char c = text_[at];
      if (quote != 0) {
        if (c == '\\')
          ++at;
        else if (c == quote)
          quote = 0;
        continue;
      }
      if (c == '\'' || c == '"') quote = c;
      if (c == '[' || c == '(' || c == '{') ++depth;
      if (c == ']' || c == ')' || c == '}') {
        if (depth == 0) wrong(at, "this bracket was never opened");
        --depth;
      }
      if (!visit(at, depth)) return;
    }
    if (quote != 0) wrong(part.begin, "a text in quotes is not closed");
  }

  /// The offset of a whole word outside of brackets and quotes.
  std::optional<std::size_t> find_word(Part part, std::string_view word) const {
    std::optional<std::size_t> found;
    walk(part, [&](std::size_t at, std::size_t depth) {
      const auto end = at + word.size();
      if (depth == 0 && end <= part.end && text_.substr(at, word.size()) == word &&
          (at == part.begin || !is_word(text_[at - 1])) && (end == part.end || !is_word(text_[end])))
        found = at;
      return !found;
    });
    return found;
  }

  std::vector<Part> split(Part part) const {
    std::vector<Part> parts;
    auto begin = part.begin;
    walk(part, [&](std::size_t at, std::size_t depth) {
      if (depth == 0 && text_[at] == ',') {
        parts.push_back(trimmed({begin, at}));
        begin = at + 1;
      }
      if (parts.size() > kMaxValues) wrong(at, fmt::format("more than {} values", kMaxValues));
      return true;
    });
    if (const auto last = trimmed({begin, part.end}); last.begin < last.end) parts.push_back(last);
    return parts;
  }

  Values items(Part part, std::size_t depth) {
    if (const auto keyword = find_word(part, "for")) return comprehension(part, *keyword, depth);
    Values values;
    for (const auto item : split(part)) values.push_back(evaluate(item, {}, {}));
    if (values.empty()) wrong(part.begin, "the list is empty");
    return values;
  }

  Values comprehension(Part part, std::size_t keyword, std::size_t depth) {
    const auto in = find_word({keyword, part.end}, "in");
    if (!in) wrong(keyword, "a 'for' without 'in'");
    const auto name = trimmed({keyword + 3, *in});
    if (name.begin == name.end || !std::ranges::all_of(of(name), is_word))
      wrong(name.begin, fmt::format("found '{}', one name is expected between 'for' and 'in'", excerpt(of(name), 40)));
    const auto condition = find_word({*in, part.end}, "if");
    const auto source_end = condition ? *condition : part.end;
    const auto source = iterable(trimmed({*in + 2, source_end}), depth + 1);
    // The variable is a parameter whose values are those of the source; one step of the loop sets it.
    space::Parameter variable;
    variable.name = std::string(of(name));
    variable.kind = space::Kind::Categorical;
    variable.values = source;
    const std::span<const space::Parameter> names(&variable, 1);
    const auto result = trimmed({part.begin, keyword});
    std::optional<space::Expression> when;
    if (condition) when = compile(trimmed({*condition + 2, part.end}), names);
    const auto item = compile(result, names);
    Values values;
    for (const auto& each : source) {
      const std::span<const space::Value> set(&each, 1);
      if (when) {
        const auto holds = when->holds(set);
        if (!holds) wrong(*condition, holds.error().message);
        if (!*holds) continue;
      }
      auto value = item.evaluate(set);
      if (!value) wrong(result.begin, value.error().message);
      values.push_back(std::move(*value));
    }
    if (values.empty()) wrong(part.begin, "the list is empty");
    return values;
  }

  space::Expression compile(Part part, std::span<const space::Parameter> names) const {
    if (part.begin == part.end) wrong(part.begin, "a value is expected here");
    auto expression = space::Expression::parse(of(part), names, space::Facts());
    if (!expression) wrong(part.begin + expression.error().position, expression.error().message);
    return std::move(*expression);
  }

  space::Value evaluate(Part part, std::span<const space::Parameter> names, std::span<const space::Value> set) const {
    auto value = compile(part, names).evaluate(set);
    if (!value) wrong(part.begin + value.error().position, value.error().message);
    return std::move(*value);
  }

  Values range(Part part) const {
    std::vector<std::int64_t> numbers;
    for (const auto each : split(part)) {
      const auto value = evaluate(each, {}, {});
      const auto* whole = std::get_if<std::int64_t>(&value);
      if (whole == nullptr) wrong(each.begin, "a range takes integers");
      numbers.push_back(*whole);
    }
    if (numbers.empty() || numbers.size() > 3) wrong(part.begin, "a range takes one to three integers");
    const auto first = numbers.size() == 1 ? 0 : numbers[0];
    const auto last = numbers.size() == 1 ? numbers[0] : numbers[1];
    const auto step = numbers.size() == 3 ? numbers[2] : 1;
    if (step == 0) wrong(part.begin, "the step of a range is zero");
    const bool up = step > 0;
    if (up ? first >= last : first <= last) wrong(part.begin, "the range is empty");
    // Unsigned: the distance of two 64-bit integers fits there, and only there.
    const auto distance = up ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first)
                             : static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(last);
    const auto stride = up ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
    const auto count = (distance - 1) / stride + 1;
    if (count > kMaxValues) wrong(part.begin, fmt::format("a range of {} values, more than {}", count, kMaxValues));
    Values values;
    for (std::uint64_t i = 0; i < count; ++i)
      values.emplace_back(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(step) * i));
    return values;
  }

  std::string_view text_;
};

}  // namespace

std::expected<std::vector<space::Value>, PythonError> parse_python_values(std::string_view text) {
  if (text.size() > kMaxPythonText)
    return std::unexpected(PythonError{kMaxPythonText, fmt::format("longer than {} bytes", kMaxPythonText)});
  try {
    auto values = Reader(text).read();
    std::set<std::string> seen;
    for (const auto& value : values)
      if (!seen.insert(space::to_json(value).dump()).second)
        return std::unexpected(
            PythonError{0, fmt::format("{} stands in the list twice", excerpt(space::to_text(value)))});
    return values;
  } catch (const PythonError& error) {
    return std::unexpected(error);
  }
}

}  // namespace nocturne::search::replay
