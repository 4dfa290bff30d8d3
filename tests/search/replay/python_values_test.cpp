#include "search/replay/python_values.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using namespace nocturne;
using search::replay::parse_python_values;
using space::Value;

namespace {

std::string parsed(std::string_view text) {
  const auto values = parse_python_values(text);
  if (!values) return "! " + std::to_string(values.error().position) + " " + values.error().message;
  std::string result;
  for (const auto& each : *values) result += (result.empty() ? "" : " ") + space::to_json(each).dump();
  return result;
}

}  // namespace

TEST_CASE("Python's lists, tuples and ranges are read", "[replay]") {
  CHECK(parsed("[1, 2, 4]") == "1 2 4");
  CHECK(parsed(" ( 'a' , \"b,]\" , ) ") == R"("a" "b,]")");
  CHECK(parsed("[True, False]") == "true false");
  CHECK(parsed("[-1, 2 * 16, 2**6, 0.5]") == "-1 32 64 0.5");
  CHECK(parsed("range(3)") == "0 1 2");
  CHECK(parsed("list(range(8, 0, -3))") == "8 5 2");
  CHECK(parsed("sorted([1, 2])") == "1 2");
  CHECK(parsed("[128+64*i for i in range(3)]") == "128 192 256");
  CHECK(parsed("[2**i for i in [1, 3, 5] if i != 3]") == "2 32");
  CHECK(parsed("['for', 'if in']") == R"("for" "if in")");
  CHECK(parsed("range(-9223372036854775807, 9223372036854775807, 9223372036854775807)") == "-9223372036854775807 0");
}

TEST_CASE("what is no list of values is refused at its place", "[replay]") {
  CHECK(parsed("").starts_with("! 0"));
  CHECK(parsed("[1, 2").starts_with("! 0"));
  CHECK(parsed("[1, 2]]").starts_with("! "));
  CHECK(parsed("[1, , 2]").starts_with("! "));
  CHECK(parsed("['a]").starts_with("! "));
  CHECK(parsed("range(0)").starts_with("! "));
  CHECK(parsed("range(1, 5, 0)").starts_with("! "));
  CHECK(parsed("range(1.5)").starts_with("! "));
  CHECK(parsed("[i for i]").starts_with("! "));
  CHECK(parsed("[i for i, j in range(3)]").starts_with("! "));
  CHECK(parsed("[j for i in range(3)]").starts_with("! 1 "));
  CHECK(parsed("[i for i in range(3) if i / 0]").starts_with("! "));
  CHECK(parsed(std::string(100'000, '(')).starts_with("! "));
  CHECK(parsed(std::string(100'000, '[') + std::string(100'000, ']')).starts_with("! "));
  std::string list = "[0";
  for (int i = 1; i < 20'000; ++i) list += "," + std::to_string(i);
  CHECK(parsed(list + "]").ends_with("more than 10000 values"));
  CHECK(parsed("list(" + std::string(2'000'000, ' ') + "[1])").ends_with("bytes"));
  std::string nested = "range(2)";
  for (int i = 0; i < 50; ++i) nested = "list(" + nested + ")";
  CHECK(parsed(nested).ends_with("more than 8 deep"));
}
