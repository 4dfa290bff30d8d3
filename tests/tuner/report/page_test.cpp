#include "tuner/report/html/page.hpp"

#include <span>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/digest.hpp"
#include "tuner/report/html/trials_document.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kHostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m\xff";

/// Hostile wherever a campaign has a say.
report::Page hostile_page() {
  report::Chart chart{
      .id = "effects", .title = kHostile, .says = kHostile, .x = {.title = kHostile}, .y = {.title = kHostile}};
  chart.rows = {kHostile};
  chart.series = {
      {.name = kHostile, .form = report::Form::Bars, .data = {{.at = 0, .low = 1, .high = 2, .text = kHostile}}}};
  chart.marks = {{.at = 1, .text = kHostile}};
  chart.table = {.columns = {kHostile}, .rows = {{kHostile}}};
  report::Page page{.title = kHostile, .state = kHostile, .written = kHostile};
  page.facts = {{.name = kHostile, .value = kHostile}};
  page.headline = {.verdict = kHostile, .run = {{.what = kHostile, .line = kHostile}}, .wrong = {kHostile}};
  page.sections = {{.id = "effects", .heading = kHostile, .charts = {chart}},
                   {.id = "empty", .heading = kHostile, .instead = kHostile}};
  page.documents = {{{"schema", "best"}, {"name", kHostile}, {kHostile, 1}}};
  return page;
}

db::StoredTrial numbered(std::int64_t number, const nlohmann::json& configuration) {
  return {.state = db::TrialState::Finished,
          .trial = {.number = number,
                    .configuration = space::Configuration::from_json(configuration).value(),
                    .outcome = number < 2 ? space::Outcome::Ok : space::Outcome::Crashed}};
}

/// Two frameworks, each with a parameter that the other has not.
report::ReportData two_frameworks() {
  report::ReportData data;
  data.answer.campaign.name = "evening";
  data.answer.campaign.spec["space"]["parameters"] = nlohmann::json::parse(R"([
    {"name": "framework", "stage": "environment", "values": ["a", "b"], "default": "a"},
    {"name": "lto", "stage": "build", "type": "boolean", "active_if": "framework == 'a'", "default": false},
    {"name": "graph", "stage": "compile", "values": ["none", "xla"], "active_if": "framework == 'b'", "default": "none"},
    {"name": "batch", "stage": "run", "values": [32, 64], "default": 32}])");
  data.trials = {numbered(0, {{"framework", "a"}, {"lto", false}, {"batch", 32}}),
                 numbered(1, {{"framework", "a"}, {"lto", true}, {"batch", 64}}),
                 numbered(2, {{"framework", "b"}, {"graph", "xla"}, {"batch", 64}}),
                 numbered(3, {{"framework", "b"}, {"graph", "none"}, {"batch", 32}})};
  data.defaults = tuner::DefaultSettings(data.answer.campaign.spec, std::span(data.trials).first(1));
  return data;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("whatever a campaign says stays text in the page", "[report]") {
  const std::string html = report::html_of(hostile_page(), {});
  CHECK_THAT(html, !ContainsSubstring("<img"));
  CHECK_THAT(html, !ContainsSubstring("<script>alert"));
  CHECK_THAT(html, !ContainsSubstring("\x1b"));
  CHECK_THAT(html, !ContainsSubstring("\xff"));
  CHECK_THAT(
      html,
      ContainsSubstring(
          "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39;&amp;"));
  // Two that run, and the data of charts and of a document.
  CHECK(count(html, "<script") == 4);
  CHECK(count(html, "</script") == 4);
}

TEST_CASE("the page asks no network for anything", "[report]") {
  const std::string html = report::html_of({.title = "t", .state = "s", .written = "w"}, {});
  CHECK_THAT(html, ContainsSubstring("default-src 'none'"));
  for (const std::string word : {" src=", " href=", "<link", "<iframe", "<img", "@import", "url("}) {
    CAPTURE(word);
    const std::string own = html.substr(0, html.find("<script>")) + report::page_script() + report::page_styles();
    CHECK_THAT(own, !ContainsSubstring(word));
  }
  CHECK_THAT(report::page_script(), !ContainsSubstring("fetch("));
  CHECK_THAT(report::page_script(), !ContainsSubstring("XMLHttpRequest"));
}

TEST_CASE("only a running campaign's page loads itself again, and knows how old it is", "[report]") {
  report::Page page{.title = "t", .state = "s", .written = "w", .written_unix_s = 1'700'000'000};
  CHECK_THAT(report::html_of(page, {}),
             !ContainsSubstring("http-equiv=\"refresh\"") && !ContainsSubstring("data-written"));
  page.running = true;
  CHECK_THAT(report::html_of(page, {}),
             ContainsSubstring("http-equiv=\"refresh\"") && ContainsSubstring("data-written=\"1700000000\""));
}

TEST_CASE("what trials have in common stands once, and each configuration can be put together again", "[report]") {
  const report::ReportData data = two_frameworks();
  const nlohmann::json document = report::trials_document(data);
  const nlohmann::json& columns = document.at("columns");
  // Each once, and in a trial in the order of the campaign file, as tables write them.
  CHECK(document.at("settings") ==
        nlohmann::json::parse(R"([{"lto": true}, {"batch": 64}, {"framework": "b"}, {"graph": "xla"}])"));
  CHECK(document.at("same").at("steps") == data.trials[0].trial.fidelity.steps);
  CHECK(columns.contains("outcome"));
  REQUIRE(document.at("trials").size() == data.trials.size());
  for (std::size_t i = 0; i < data.trials.size(); ++i) {
    const nlohmann::json& row = document.at("trials")[i];
    CHECK(row.size() == columns.size());
    nlohmann::json configuration = document.at("default");
    for (const nlohmann::json& place : row[columns.at("settings").get<std::size_t>()])
      configuration.update(document.at("settings")[place.get<std::size_t>()]);
    const auto inactive = row[columns.at("inactive").get<std::size_t>()].get<std::size_t>();
    for (const nlohmann::json& name : document.at("inactive")[inactive]) configuration.erase(name.get<std::string>());
    CHECK(configuration == data.trials[i].trial.configuration.to_json());
  }
}

TEST_CASE("the library that draws is in the page compressed, and the policy names it", "[report]") {
  CHECK(report::chart_library_gzip().starts_with("1f8b0800000000"));  // without a time
  CHECK(report::chart_library_gzip().size() > 100'000);
  CHECK(report::chart_library_sha256().size() == 64);
  const std::string html = report::html_of({.title = "t", .state = "s", .written = "w"}, {});
  CHECK_THAT(html, ContainsSubstring("id=\"chart-library\">H4sIAAAAAA"));  // the same bytes
  CHECK_THAT(report::chart_licence(), ContainsSubstring("Permission is hereby granted"));
  CHECK_THAT(report::chart_licence(), !ContainsSubstring("--"));
}

}  // namespace nocturne::test
