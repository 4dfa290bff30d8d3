#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/cli/output/json.hpp"

namespace nocturne::cli {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

// The smallest document that an answer without a single trial is.
json empty_answer() {
  return named_document(
      "best", {{"campaign", "evening"},
               {"generation", 1},
               {"finished", false},
               {"epochs", 12},
               {"best", nullptr},
               {"default", nullptr},
               {"gain", nullptr},
               {"accuracy", nullptr},
               {"target", nullptr},
               {"learning", nullptr},
               {"changes", json::array()},
               {"outcomes", json::object()},
               {"processes",
                {{"search", 0}, {"references", 0}, {"choice", 0}, {"verdict", 0}, {"gate", 0}, {"next_hour", nullptr}}},
               {"matters", nullptr},
               {"continuing", nullptr}});
}

bool requires_key(const json& schema, const std::string& key) {
  for (const json& each : schema.at("required"))
    if (each == key) return true;
  return false;
}

}  // namespace

TEST_CASE("every document has a schema with a version, and nocturne schema lists it and prints it", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"schema"}) == ExitCode::Ok);
  const std::string list = cli.out();
  REQUIRE(document_names().size() > 30);
  for (const auto& [name, printed_by] : document_names()) {
    CAPTURE(name);
    CHECK_THAT(list, ContainsSubstring(name));
    CHECK_THAT(printed_by, ContainsSubstring("nocturne "));
    REQUIRE(cli.nocturne({"schema", name}) == ExitCode::Ok);
    const json schema = cli.json();
    CHECK(schema.at("$schema") == "http://json-schema.org/draft-07/schema#");
    CHECK(schema.at("properties").at("version").at("const").is_number_integer());
    CHECK(schema.at("properties").at("schema").at("const") == name);
    CHECK(requires_key(schema, "version"));
    CHECK_FALSE(deviations(named_document(name, {{"unheard_of", json::array()}})).empty());  // and it is a schema
  }
  CHECK(cli.nocturne({"schema", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("names").size() == document_names().size() + 5);
  for (const char* input : {"campaign", "request", "registry", "machine-file"}) {
    CHECK_THAT(list, ContainsSubstring(input));
    REQUIRE(cli.nocturne({"schema", input}) == ExitCode::Ok);
    CHECK(cli.json().at("$schema") == "http://json-schema.org/draft-07/schema#");
  }
  CHECK(cli.nocturne({"schema", "bset"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("did you mean 'best'?"));
}

TEST_CASE("a document with a key too many, one too few or of another type deviates from its schema", "[cli]") {
  const json good = empty_answer();
  CHECK(deviations(good).empty());
  json other = good;
  other["new"] = 1;
  CHECK(deviations(other).size() == 1);
  other = good;
  other.erase("gain");
  REQUIRE(deviations(other).size() == 1);
  CHECK_THAT(deviations(other)[0], ContainsSubstring("'gain'"));
  other = good;
  other["gain"] = {{"verdict", "perhaps"}, {"percent", 1.0},     {"low_percent", 0.0},
                   {"high_percent", 2.0},  {"confidence", 0.95}, {"pairs", "a couple"}};
  CHECK(deviations(other).size() == 2);
  CHECK_THAT(deviations(other)[0] + deviations(other)[1],
             ContainsSubstring("/gain/verdict") && ContainsSubstring("/gain/pairs"));
  other = good;
  other["version"] = 99;
  CHECK(deviations(other).size() == 1);
  CHECK_FALSE(deviations(json::array()).empty());
  CHECK_THROWS_AS(named_document("bset", json::object()), std::logic_error);
}

TEST_CASE("what other programs read of the best is required by its schema", "[cli]") {
  const json best = document_schema("best").value();
  const json& definitions = best.at("definitions");
  for (const char* key : {"gain", "changes", "matters"}) CHECK(requires_key(best, key));
  CHECK(requires_key(definitions.at("gain"), "verdict"));
  CHECK(requires_key(definitions.at("changes").at("items"), "parameter"));
  for (const char* key : {"much", "hardly", "unsure"}) CHECK(requires_key(definitions.at("matters"), key));
  CHECK(requires_key(definitions.at("matter"), "parameter"));
  // The documents that hold an answer hold all of it.
  const json status = document_schema("status").value();
  const json& answer = status.at("definitions").at("answer").at("properties");
  for (const auto& [key, value] : best.at("properties").items()) {
    CAPTURE(key);
    CHECK(document_schema("tune")->at("properties").contains(key));
    const bool of_model = key == "matters" || key == "continuing";
    CHECK(document_schema("explain")->at("properties").contains(key) == !of_model);
    const bool of_document = key == "schema" || key == "version";
    CHECK(answer.contains(key) == !(of_model || of_document));
  }
}

TEST_CASE("schema --check says where a document deviates from the schema it names", "[cli]") {
  test::CliFixture cli;
  const auto check = [&](const std::string& text) {
    const auto file = cli.folder() / "document.json";
    std::ofstream(file) << text;
    return cli.nocturne({"schema", "--check", file.string()});
  };
  CHECK(check(empty_answer().dump()) == ExitCode::Ok);
  CHECK(cli.out().empty());
  json wrong = empty_answer();
  wrong["epochs"] = "twelve";
  CHECK(check(wrong.dump()) == ExitCode::Negative);
  CHECK_THAT(cli.out(), ContainsSubstring("document.json: /epochs: "));
  wrong["schema"] = "bset";
  CHECK(check(wrong.dump()) == ExitCode::Negative);
  CHECK_THAT(cli.out(), ContainsSubstring("no document 'bset'"));
  CHECK(check("{") == ExitCode::Usage);
  CHECK(cli.nocturne({"schema", "--check", (cli.folder() / "nowhere").string()}) == ExitCode::Usage);
  CHECK(check("// of a person\n{\"campaign\": \"mine\"}") == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("is a campaign file, which is checked when it is read"));
}

}  // namespace nocturne::cli
