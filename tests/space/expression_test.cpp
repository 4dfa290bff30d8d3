#include "space/expression/expression.hpp"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>

#include "tests/space/build.hpp"
#include "tests/space/python_table.hpp"

namespace nocturne::space {
namespace {

using test::boolean;
using test::choices;
using test::integers;
using test::reals;

Facts machine() {
  Facts facts;
  facts.set("machine.cores", std::int64_t{8});
  facts.set("machine.isa", std::vector<std::string>{"sse2", "avx2", "avx512f"});
  facts.set("machine.name", std::string("host"));
  return facts;
}

std::vector<Parameter> some_parameters() {
  return test::make_space({integers("threads", 1, 8), choices("precision", {std::string("f32"), std::string("bf16")}),
                           boolean("xla"), choices("mixed", {std::string("auto"), std::int64_t{4}}),
                           reals("rate", 0, 1)})
      .parameters();
}

ExpressionError error_of(std::string_view text) {
  const auto expression = Expression::parse(text, some_parameters(), machine());
  INFO(text);
  REQUIRE_FALSE(expression.has_value());
  return expression.error();
}

bool holds(std::string_view text, const std::vector<Value>& values) {
  const auto expression = Expression::parse(text, some_parameters(), machine());
  INFO(text << (expression ? "" : ": " + expression.error().message));
  REQUIRE(expression.has_value());
  return expression->holds(values).value();
}

/// A value as the table writes it.
std::string as_python(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "bool True" : "bool False";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("int {}", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return "text " + *text;
  return fmt::format("float {}", std::get<double>(value));
}

std::string expected(std::string_view entry) {
  if (!entry.starts_with("float ")) return std::string(entry);
  return fmt::format("float {}", std::strtod(entry.data() + 6, nullptr));
}

}  // namespace

TEST_CASE("expressions give what Python gives", "[expression]") {
  const std::vector<Value> values = {
      std::int64_t{7}, std::int64_t{-3}, std::int64_t{0}, 2.5, -0.5, std::string("fast"), std::string(), true, false};
  const std::vector<std::string> names = {"a", "b", "n", "x", "y", "s", "e", "t", "f"};
  std::vector<ParameterSpec> specs;
  for (std::size_t i = 0; i < names.size(); ++i) specs.push_back(choices(names[i], {values[i]}));
  const auto parameters = test::make_space(specs).parameters();
  for (const auto& row : test::kPythonTable) {
    const auto expression = Expression::parse(row.expression, parameters, {});
    const auto value = expression ? expression->evaluate(values) : std::unexpected(expression.error());
    INFO(row.expression << (value ? "" : ": " + value.error().message));
    CHECK((value ? as_python(*value) : "error") == expected(row.expected));
  }
}

TEST_CASE("facts about the machine are constants and lists", "[expression]") {
  CHECK(holds("'avx2' in machine.isa", {}));
  CHECK(holds("'avx512_bf16' not in machine.isa and len(machine.isa) == 3", {}));
  CHECK(holds("threads <= machine.cores // 2", {std::int64_t{4}}));
  CHECK_FALSE(holds("threads <= machine.cores // 2", {std::int64_t{5}}));
  CHECK(holds("machine.name == 'host'", {}));
  CHECK(holds("min(machine.isa) == 'avx2'", {}));
}

TEST_CASE("mentions are all parameters of the text, also those that a fact makes irrelevant", "[expression]") {
  const auto expression =
      Expression::parse("xla and threads > 1 or 'avx2' in machine.isa", some_parameters(), machine());
  CHECK(expression->mentions() == std::vector<std::size_t>{0, 2});
  const auto folded = Expression::parse("'avx2' in machine.isa or threads > 1", some_parameters(), machine());
  CHECK(folded->mentions() == std::vector<std::size_t>{0});
}

TEST_CASE("an unknown name is reported with its place and the nearest name", "[expression]") {
  const auto error = error_of("precision == 'f32' and thread > 1");
  CHECK(error.position == 23);
  CHECK(error.message == "unknown name 'thread', did you mean 'threads'?");
  CHECK(error.excerpt("precision == 'f32' and thread > 1") ==
        "precision == 'f32' and thread > 1\n                       ^");
  CHECK(error_of("machine.core > 1").message == "unknown name 'machine.core', did you mean 'machine.cores'?");
  CHECK(error_of("minimum(1, 2)").message == "unknown function 'minimum' (min, max, abs, len)");
}

TEST_CASE("the caret counts letters, not bytes, and long lines are cut", "[expression]") {
  const std::string text = "'Zürich' == thread";
  CHECK(error_of(text).excerpt(text) == text + "\n            ^");
  const std::string longer = std::string(200, ' ') + "thread" + std::string(200, ' ');
  const auto excerpt = error_of(longer).excerpt(longer);
  CHECK(excerpt.find("… ") == 0);
  CHECK(excerpt.size() < 250);
  const std::string lines = "threads > 1 and\n  thread < 2";
  CHECK(error_of(lines).excerpt(lines) == "  thread < 2\n  ^");
}

TEST_CASE("types that cannot fit are found before anything is evaluated", "[expression]") {
  CHECK(error_of("precision == 32").message == "a text is compared with a number");
  CHECK(error_of("threads + 'a' > 2").message == "'+' needs a number, here is a text");
  CHECK(error_of("precision < 3").position == 10);
  CHECK(error_of("threads in 4").message ==
        "the right side of 'in', where it is no list, needs a text, here is a number");
  CHECK(error_of("threads in ['a', 'b']").message == "a number is compared with a text");
  CHECK(error_of("machine.isa == 'a'").message == "a list can stand only right of 'in' and in min, max and len");
  CHECK(error_of("not machine.isa").message == "a list can stand only right of 'in' and in min, max and len");
  CHECK(error_of("abs(precision) > 1").message == "abs needs a number, here is a text");
}

TEST_CASE("a parameter of mixed types is judged by its value", "[expression]") {
  const auto expression = Expression::parse("mixed > 2", some_parameters(), machine());
  REQUIRE(expression.has_value());
  const std::vector<Value> number = {false, false, false, std::int64_t{4}};
  const std::vector<Value> text = {false, false, false, std::string("auto")};
  CHECK(expression->holds(number).value());
  REQUIRE_FALSE(expression->holds(text).has_value());
  CHECK(expression->holds(text).error().position == 6);
  CHECK(holds("mixed == 'auto' or mixed > 2", text));
}

TEST_CASE("errors of evaluation name the operator's place", "[expression]") {
  const auto expression = Expression::parse("threads > 2 and 1 // (threads - 3) > 0", some_parameters(), machine());
  const std::vector<Value> three = {std::int64_t{3}};
  REQUIRE_FALSE(expression->holds(three).has_value());
  CHECK(expression->holds(three).error().position == 18);
  CHECK(expression->holds(three).error().message == "division by zero");
}

TEST_CASE("slips from other languages get a hint", "[expression]") {
  CHECK(error_of("threads = 1").message == "'=' is no comparison, use '=='");
  CHECK(error_of("xla && threads").message == "'&' is not known here, use 'and'");
  CHECK(error_of("!xla").message == "'!' stands alone, use 'not' or '!='");
  CHECK(error_of("xla is True").message == "'is' is not known here, use '=='");
  CHECK(error_of("1 if xla else 2").message == "'if' is not known here, use 'and' and 'or'");
}

TEST_CASE("hostile expressions are refused, not suffered", "[expression]") {
  const auto repeated = [](const std::string& piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
  };
  CHECK(error_of("").message == "the expression is empty");
  CHECK(error_of("   ").message == "the expression is empty");
  CHECK(error_of(repeated("(", 2000)).message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("[", 2000)).message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("not ", 1000)).message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("-", 2000) + "1").message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("2**", 1000) + "2").message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("abs(", 1000)).message == "nested more than 64 levels deep");
  CHECK(error_of(repeated("1+", 5000) + "1").message == "the expression is longer than 4096 bytes");
  CHECK(error_of(repeated("threads+", 500) + "1 > '").message.starts_with("the text that begins here"));
  CHECK(error_of("threads > " + repeated("9", 400)).message == "the integer does not fit 64 bits");
  CHECK(error_of("threads > 1e999").message == "the number is too large or too small");
  CHECK(error_of("precision == 'f32").message == "the text that begins here has no closing '");
  CHECK(error_of("precision == 'f32\\").message.starts_with("after a backslash"));
  CHECK(error_of(std::string("threads \0 1", 11)).message == "unexpected byte 0x00");
  CHECK(error_of("threads \xff 1").message == "unexpected byte 0xff");
  CHECK(error_of("threads.__class__").message == "unknown name 'threads.__class__'");
  CHECK(error_of("(threads > 1").message == "the expression ends where ',' or ')' is needed");
  CHECK(error_of("threads > 1)").message == "')' stands where an operator or the end is needed");
  CHECK(error_of("min(,)").message == "',' stands where a value is needed");

  // The middle of a chain is evaluated twice when it is compiled; chains inside chains must not double without end.
  std::string chain = "threads";
  for (int i = 0; i < 40; ++i) chain = "(1<" + chain + "<9)";
  CHECK(error_of(chain).message == "the expression is too complicated; divide it");
}

TEST_CASE("random bytes never crash the parser", "[expression]") {
  constexpr std::string_view kAlphabet = "ab1.0 '\"()[],+-*/%<>=!not in and or \\threads";
  const auto parameters = some_parameters();
  Random random(3);
  int parsed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto left = random.below(std::uint64_t{24}); left > 0; --left)
      text += kAlphabet[random.below(kAlphabet.size())];
    const auto expression = Expression::parse(text, parameters, machine());
    if (!expression) {
      CHECK(expression.error().position <= text.size());
      CHECK_FALSE(expression.error().message.empty());
    } else {
      ++parsed;
    }
  }
  CHECK(parsed > 0);
}

}  // namespace nocturne::space
