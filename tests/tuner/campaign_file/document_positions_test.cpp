#include "tuner/campaign_file/document_positions.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

using namespace nocturne::tuner;

namespace {

Problem only_problem(std::string_view text) {
  const auto document = read_document(text, "f.json");
  REQUIRE(!document);
  CAPTURE(to_text(document.error()));
  REQUIRE(document.error().size() == 1);
  return document.error().front();
}

/// ["ä","ä",…], so many of them, each behind `before`.
std::string list_of_texts(std::size_t count, std::string_view before) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) text += std::string(i == 0 ? "" : ",").append(before).append("\"ä\"");
  return text + "]";
}

std::chrono::nanoseconds time_to_read(const std::string& text) {
  const auto began = std::chrono::steady_clock::now();
  CHECK(read_document(text, "f.json"));
  return std::chrono::steady_clock::now() - began;
}

}  // namespace

TEST_CASE("each value knows its line and column, comments and all", "[campaign_file]") {
  const auto document = read_document(R"(// a comment with "quotes", {braces} and , commas
{
  "a": 1, /* two
  lines */ "b": [true, /* : */ "x\"y", -1.5e3],
  "ä": {"~/": null}
})",
                                      "f.json");
  REQUIRE(document);
  CHECK(document->value == nlohmann::json::parse(R"({"a":1,"b":[true,"x\"y",-1500.0],"ä":{"~/":null}})"));
  const auto at = [&](const char* pointer) {
    const Place& place = document->place(pointer);
    return std::tuple(place.line, place.column, place.key_line, place.key_column);
  };
  CHECK(at("") == std::tuple(2, 1, 2, 1));
  CHECK(at("/a") == std::tuple(3, 8, 3, 3));
  CHECK(at("/b") == std::tuple(4, 17, 4, 12));
  CHECK(at("/b/0") == std::tuple(4, 18, 4, 18));
  CHECK(at("/b/1") == std::tuple(4, 32, 4, 32));
  CHECK(at("/b/2") == std::tuple(4, 40, 4, 40));
  CHECK(at("/ä") == std::tuple(5, 8, 5, 3));  // columns are characters, not bytes
  CHECK(at("/ä/~0~1") == std::tuple(5, 15, 5, 9));
  CHECK(at("/b/7/nowhere") == at("/b"));  // the nearest that exists
}

TEST_CASE("numbers directly before comments and brackets keep the cursor in step", "[campaign_file]") {
  const auto document = read_document("[1/*c*/,2//x\n,-3.5e+2,{\"k\":4}]", "f.json");
  REQUIRE(document);
  CHECK(document->place("/1").column == 9);
  CHECK(document->place("/2").line == 2);
  CHECK(document->place("/3/k").column == 15);
}

TEST_CASE("a text on one line is read as fast as one on many lines, and columns are right to its end",
          "[campaign_file]") {
  constexpr std::size_t kTexts = 49'000;
  const std::string one_line = list_of_texts(kTexts, ""), many_lines = list_of_texts(kTexts, "\n");
  const auto document = read_document(one_line, "f.json");
  REQUIRE(document);
  for (const std::size_t index : {0UZ, 1UZ, 63UZ, 64UZ, 65UZ, 1'000UZ, kTexts - 1}) {
    const Place& place = document->place("/" + std::to_string(index));
    CHECK(place.line == 1);
    CHECK(place.column == 2 + 4 * index);  // "ä", is four characters and five bytes
  }
  // Where each position counts from the beginning of its line, this takes some hundred times as long.
  CHECK(time_to_read(one_line) < 20 * time_to_read(many_lines));
}

TEST_CASE("a byte order mark and Windows line ends are harmless", "[campaign_file]") {
  const auto document = read_document("\xEF\xBB\xBF{\r\n\"a\": 1 // c\r\n, \"b\": 2}\r\n", "f.json");
  REQUIRE(document);
  CHECK(document->place("").column == 1);
  CHECK(document->place("/a").line == 2);
  CHECK(document->place("/b").line == 3);
}

TEST_CASE("a duplicate key is reported with both lines, and reading goes on", "[campaign_file]") {
  const auto document = read_document("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2},\n \"a\": 3}", "f.json");
  REQUIRE(!document);
  REQUIRE(document.error().size() == 2);
  CHECK(document.error()[0].pointer == "/b/c");
  CHECK(document.error()[0].line == 2);
  CHECK(document.error()[1].pointer == "/a");
  CHECK(document.error()[1].line == 3);
  CHECK(document.error()[1].column == 2);
  CHECK(document.error()[1].found == "key \"a\" stands here for the second time; first on line 1");
}

TEST_CASE("errors of syntax name the line, show it, and say what was meant", "[campaign_file]") {
  struct Case {
    const char* text;
    std::size_t line, column;
    const char* found;
    const char* allowed;
  };
  const Case cases[] = {
      {"", 1, 1, "the file is empty", "one object in braces"},
      {"  // nothing\n", 2, 1, "the file ends too early", "one object in braces"},
      {"{\"a\": [1, 2", 1, 12, "the file ends too early: the '[' of line 1, column 7 is not closed", ""},
      {"{\"a\": 1,\n}", 2, 1, "a comma before '}'", "a comma only between two entries"},
      {"[1, 2, ]", 1, 8, "a comma before ']'", "a comma only between two entries"},
      {"{\"a\" 1}", 1, 6, "unexpected 1", "':'"},
      {"{a: 1}", 1, 2, "'a' is not JSON", ""},
      {"{\"a\": 1 \"b\": 2}", 1, 9, "unexpected \"b\" (is a comma missing before it?)", "',' or '}'"},
      {"{\"a\": 'x'}", 1, 7, "text in single quotes", "double quotes"},
      {"{\"a\": True}", 1, 7, "'True' is not JSON", ""},
      {"# c\n{}", 1, 1, "'#' does not begin a comment", "// to the end of the line, or /* ... */"},
      {"{\"a\": \"x\n\"}", 1, 7, "a text that is not closed on its line",
       "a closing '\"'; a line break inside a text is written \\n"},
      {"{} {}", 1, 4, "unexpected {", "nothing but comments"},
      {"{\"a\": 01}", 1, 7, "'01' is not JSON", "a number"},
      {"{\"a\": truefalse}", 1, 7, "'truefalse' is not JSON", "a number"},
      {"{\"a\": 1e999}", 1, 7, "", ""},
      {"{\"a\": \"\\x\"}", 1, 9, "invalid string: forbidden character after backslash", ""},
      {"{\"a\": \"\xff\"}", 1, 8, "invalid string: ill-formed UTF-8 byte", ""},
      {"{\"a\": 1 /* x", 1, 9, "invalid comment; missing closing '*/'", ""},
      {"]", 1, 1, "unexpected ]", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Problem problem = only_problem(c.text);
    CAPTURE(to_text(problem));
    CHECK(problem.line == c.line);
    CHECK(problem.column == c.column);
    CHECK(!problem.found.empty());
    if (*c.found != '\0') CHECK(problem.found == c.found);
    CHECK(problem.allowed.find(c.allowed) != std::string::npos);
    if (problem.found != "the file is empty") CHECK(problem.excerpt.find('^') != std::string::npos);
  }
  CHECK(only_problem("{\"a\": True}").nearest == "true");
  CHECK(only_problem("{\"a\": None}").nearest == "null");
}

TEST_CASE("a syntax error is shown with its line and a caret", "[campaign_file]") {
  CHECK(to_text(only_problem("{\n  \"a\": 1,\n}")) ==
        "f.json:3:1: a comma before '}'; allowed: a comma only between two entries\n    }\n    ^");
}

TEST_CASE("hostile texts are refused, not suffered", "[campaign_file]") {
  CHECK(only_problem(std::string(kLargestFileBytes + 1, ' ')).found == "the file is too large");
  CHECK(only_problem(std::string(100'000, '[')).found == "more than 32 brackets inside each other");
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "{\"a\":";
  CHECK(only_problem(deep).found == "more than 32 brackets inside each other");
  CHECK(only_problem("{\"" + std::string(kLongestStringBytes + 1, 'x') + "\": 1}").found == "a text of 4097 bytes");
  CHECK(only_problem("[\"" + std::string(kLongestStringBytes + 1, 'x') + "\"]").found == "a text of 4097 bytes");
  std::string many = "[0";
  for (std::size_t i = 0; i < kMostValues; ++i) many += ",0";
  CHECK(only_problem(many + "]").found == "more than 50000 values");
  CHECK(only_problem(std::string("{}\0{", 4)).found == "the file contains a zero byte");
}

TEST_CASE("what is shown of a value cannot harm a terminal", "[campaign_file]") {
  CHECK(shown("\x1b[31mred") == "\"\\u001b[31mred\"");
  CHECK(shown(std::string(200, 'x')).size() == 60);
  CHECK(shown({1, 2}) == "[1,2]");
  CHECK(shown(std::vector<int>(100)) == "a list of 100 values");
}
