#include "tuner/campaign_file/schema_check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "tuner/schema/campaign_schema.hpp"

using namespace nocturne;

TEST_CASE("the schema describes every key, with examples or values", "[campaign_file]") {
  const auto schema = nlohmann::json::parse(tuner::campaign_schema());
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  const auto check_properties = [](const auto& self, const nlohmann::json& part) -> void {
    const nlohmann::json properties = part.value("properties", nlohmann::json::object());
    for (const auto& [key, property] : properties.items()) {
      CAPTURE(key);
      const std::string description = property.value("description", "");
      CHECK(description.ends_with('.'));
      const bool shown = property.contains("examples") || property.contains("enum") ||
                         property.contains("properties") || property.contains("items");
      CHECK(shown);
      self(self, property);
    }
  };
  check_properties(check_properties, schema);
  for (const auto& [name, definition] : schema["definitions"].items()) check_properties(check_properties, definition);
}

TEST_CASE("each example of the schema is valid where it stands", "[campaign_file]") {
  const auto schema = nlohmann::json::parse(tuner::campaign_schema());
  const auto check_examples = [&](const auto& self, const nlohmann::json& part) -> void {
    if (part.is_object() && part.contains("examples") && part.contains("type")) {
      nlohmann::json alone = part;
      alone["definitions"] = schema["definitions"];
      for (const auto& example : part["examples"]) {
        CAPTURE(part.dump(), example.dump());
        CHECK(tuner::check_against_schema(alone, example).empty());
      }
      if (part.contains("default")) CHECK(tuner::check_against_schema(alone, part["default"]).empty());
    }
    if (part.is_structured())
      for (const auto& inner : part) self(self, inner);
  };
  check_examples(check_examples, schema);
}
