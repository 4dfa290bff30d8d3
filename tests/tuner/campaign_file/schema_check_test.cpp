#include "tuner/campaign_file/schema_check.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tuner/campaign_file/schema_judge.hpp"

using namespace nocturne::tuner;
using nlohmann::json;

namespace {

std::vector<SchemaFinding> check(const char* schema, const char* document) {
  return check_against_schema(json::parse(schema), json::parse(document));
}

}  // namespace

// If the library changes a sentence, the rule is no longer recognised, and this goes red.
TEST_CASE("each kind of rule that the library reports is recognised", "[campaign_file]") {
  const auto rule = [](const char* schema, const char* document) {
    const auto verdicts = judge(json::parse(schema), json::parse(document));
    REQUIRE(verdicts.size() == 1);
    return verdicts.front().rule;
  };
  CHECK(rule(R"({"type": "string"})", "1") == Rule::Type);
  CHECK(rule(R"({"enum": ["a"]})", "\"b\"") == Rule::Enum);
  CHECK(rule(R"({"minimum": 1})", "0") == Rule::Bound);
  CHECK(rule(R"({"exclusiveMinimum": 1})", "1") == Rule::Bound);
  CHECK(rule(R"({"maximum": 1})", "2") == Rule::Bound);
  CHECK(rule(R"({"minItems": 1})", "[]") == Rule::Items);
  CHECK(rule(R"({"maxItems": 1})", "[1, 2]") == Rule::Items);
  CHECK(rule(R"({"minLength": 1})", "\"\"") == Rule::Length);
  CHECK(rule(R"({"pattern": "^a$"})", "\"b\"") == Rule::Pattern);
  CHECK(rule(R"({"required": ["a"]})", "{}") == Rule::Required);
  CHECK(rule(R"({"properties": {}, "additionalProperties": false})", "{\"a\": 1}") == Rule::UnknownKey);
  CHECK(rule(R"({"not": {"type": "string"}})", "\"b\"") == Rule::Other);
}

TEST_CASE("findings inside lists and references have their pointer", "[campaign_file]") {
  const char* schema =
      R"({"type": "object", "properties": {"a/b": {"type": "array", "items": {"$ref": "#/definitions/d"}}},
                           "definitions": {"d": {"type": "object", "properties": {"x": {"type": "integer", "minimum": 3}}}}})";
  const auto findings = check(schema, R"({"a/b": [{"x": 5}, {"x": 1}, {"x": "t"}]})");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0] == SchemaFinding{"/a~1b/2/x", At::Value, "found \"t\"", "a whole number from 3", ""});
  CHECK(findings[1] == SchemaFinding{"/a~1b/1/x", At::Value, "found 1", "a whole number from 3", ""});
}

TEST_CASE("every unknown key of an object is named", "[campaign_file]") {
  const auto findings =
      check(R"({"properties": {"wall": {}}, "additionalProperties": false})", R"({"wal": 1, "wall": 2, "x": 3})");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0] == SchemaFinding{"/wal", At::Key, "unknown key \"wal\"", "wall", "wall"});
  CHECK(findings[1] == SchemaFinding{"/x", At::Key, "unknown key \"x\"", "wall", ""});
}

TEST_CASE("each missing key is named, with what it may be", "[campaign_file]") {
  const auto findings =
      check(R"({"properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "string"}}, "required": ["a", "b"]})", "{}");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].found == "key 'a' is missing");
  CHECK(findings[0].allowed == "x, y");
  CHECK(findings[1].allowed == "a text");
}

TEST_CASE("a rule without words of ours is still reported", "[campaign_file]") {
  const auto findings = check(R"({"not": {"type": "string"}})", "\"b\"");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].found.starts_with("found \"b\": "));
}
