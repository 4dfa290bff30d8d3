#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/cli/output/json.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

std::string page_of(test::CliFixture& cli, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"report", "html", "--output", "-"};
  words.insert(words.end(), more.begin(), more.end());
  REQUIRE(cli.nocturne(words) == ExitCode::Ok);
  return cli.out();
}

/// What stands in the page for other programs, by id.
nlohmann::json data_of(const std::string& page, const std::string& id) {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const auto at = page.find(begin);
  REQUIRE(at != std::string::npos);
  const auto from = at + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// What stands in a column of a row of the trials, or is the same in all of them.
nlohmann::json cell(const nlohmann::json& trials, std::size_t row, const std::string& column) {
  const auto& same = trials.at("same");
  if (same.contains(column)) return same.at(column);
  return trials.at("trials").at(row).at(trials.at("columns").at(column).get<std::size_t>());
}

}  // namespace

TEST_CASE("the page begins with the verdict, what to run and what went wrong", "[cli][report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const std::string page = page_of(cli);
  CHECK_THAT(page, ContainsSubstring("The best is 1.67 times as fast as the default"));
  CHECK_THAT(page, ContainsSubstring("class=\"proven\""));
  CHECK_THAT(page, ContainsSubstring("export evening --generation 1</code>"));
  CHECK_THAT(page, ContainsSubstring("1 trial of 5 did not train: 1 trial crashed (signal 11 in phase first_step)."));
  CHECK_THAT(page, ContainsSubstring("<td>bf16</td>") || ContainsSubstring("precision=bf16"));
}

TEST_CASE("documents in the page are those of --json, and its trials are those of list trials", "[cli][report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const std::string page = page_of(cli, {"--with-names"});
  for (const std::string name : {"best", "report-trials", "list-comparisons", "list-events"}) {
    CAPTURE(name);
    CHECK(cli::deviations(data_of(page, "document-" + name)).empty());
  }
  REQUIRE(cli.nocturne({"list", "trials", "--json"}) == ExitCode::Ok);
  const auto listed = cli.json().at("trials");
  const auto trials = data_of(page, "document-report-trials");
  REQUIRE(trials.at("trials").size() == listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    for (const std::string column : {"trial", "outcome", "reason", "runs", "steps", "reused", "peak_bytes"})
      CHECK(cell(trials, i, column) == listed[i].at(column));
    const auto& estimate = listed[i].at("estimate");
    CHECK(cell(trials, i, "seconds").is_null() == estimate.is_null());
    if (!estimate.is_null())
      CHECK(cell(trials, i, "seconds").get<double>() == Catch::Approx(estimate.at("seconds").get<double>()));
  }
  REQUIRE(cli.nocturne({"best", "--json"}) == ExitCode::Ok);
  CHECK(cli.json() == data_of(page, "document-best"));
}

TEST_CASE("a campaign without pairs says that its gain is not known", "[cli][report]") {
  test::CliFixture cli;
  (void)test::fill(cli, {.verdict = false, .artifact = {}, .machine = {}});
  const std::string page = page_of(cli);
  CHECK_THAT(page, ContainsSubstring("not yet measured again"));
  CHECK_THAT(page, ContainsSubstring("class=\"open\""));
  CHECK_THAT(page, ContainsSubstring("were not measured in pairs"));
}

TEST_CASE("a campaign of which nothing trained has a page that says so", "[cli][report]") {
  test::CliFixture cli;
  {
    db::Store store = cli.open();
    const auto campaign =
        store.begin_or_resume_campaign({.name = "poor", .identity = "i", .spec = {{"campaign", "poor"}}});
    const auto trial = store.reserve_trial(campaign.id, {.number = 0, .fidelity = {.steps = 4}, .key = "k"});
    store.finish_trial(trial, {.outcome = space::Outcome::Unsupported, .reason = "<b>no such thing</b>"});
    store.finish_campaign(campaign.id);
    store.release_campaign(campaign.id);
  }
  const std::string page = page_of(cli, {"poor"});
  CHECK_THAT(page, ContainsSubstring("No configuration has trained yet."));
  CHECK_THAT(page, ContainsSubstring("1 trial unsupported (&lt;b&gt;no such thing&lt;/b&gt;)"));
  CHECK_THAT(page, ContainsSubstring("No configuration has trained.</p>"));
  CHECK_THAT(page, ContainsSubstring("Nothing has trained, so there is nothing to compare."));
  CHECK_THAT(page, ContainsSubstring("--outcome failed</code>"));
}

TEST_CASE("a campaign that is running has a page that says when it was so", "[cli][report]") {
  test::CliFixture cli;
  const db::Store holds = test::fill(cli, {.finished = false, .verdict = false, .artifact = {}, .machine = {}});
  const std::string page = page_of(cli);
  CHECK_THAT(page, ContainsSubstring("Running; as it was at ") && ContainsSubstring("may have ended since"));
  CHECK_THAT(page, ContainsSubstring("http-equiv=\"refresh\""));
  CHECK_THAT(page, ContainsSubstring("are not yet measured in pairs"));
  CHECK_THAT(page, ContainsSubstring("status evening --generation 1</code>"));
}

TEST_CASE("names are left out of the page unless they are asked for", "[cli][report]") {
  test::CliFixture cli;
  cli.variables["USER"] = "anna";
  {
    db::Store store = cli.open();
    const auto campaign =
        store.begin_or_resume_campaign({.name = "poor", .identity = "i", .spec = {{"campaign", "poor"}}});
    const auto trial = store.reserve_trial(campaign.id, {.number = 0, .fidelity = {.steps = 4}, .key = "k"});
    store.finish_trial(trial, {.outcome = space::Outcome::Failed,
                               .reason = "anna may not read /home/anna/x with --token hunter2x, SECRET_A=hunter3x"});
    store.append_event({.campaign = campaign.id, .level = db::Level::Warning, .what = "anna: hf_hunter4xhunter4x"});
  }
  const std::string page = page_of(cli);
  for (const std::string word : {"anna", "hunter2x", "hunter3x", "hunter4x"}) {
    CAPTURE(word);
    CHECK_THAT(page, !ContainsSubstring(word));
  }
  const std::string whole = page_of(cli, {"--with-names"});
  for (const std::string word : {"anna", "hunter2x", "hunter3x", "hunter4x"})
    CHECK_THAT(whole, ContainsSubstring(word));
}

TEST_CASE("the page is written into the data folder, or where it is wanted", "[cli][report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  REQUIRE(cli.nocturne({"report", "html", "--json"}) == ExitCode::Ok);
  const std::filesystem::path file = cli.json().at("file").get<std::string>();
  CHECK(file == cli.data() / "reports" / "evening.html");
  CHECK(std::filesystem::file_size(file) == cli.json().at("bytes"));
  REQUIRE(cli.nocturne({"report", "html", "evening", "-o", (cli.folder() / "x/night.html").string()}) == ExitCode::Ok);
  CHECK(std::filesystem::exists(cli.folder() / "x/night.html"));
  CHECK(cli.nocturne({"report", "html", "nobody"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"report", "html", "--markdown"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "paper", "--with-names"}) == ExitCode::Usage);
  std::ofstream(cli.folder() / "file") << "x";
  CHECK(cli.nocturne({"report", "html", "-o", (cli.folder() / "file/x.html").string()}) == ExitCode::OutputFailed);
}

TEST_CASE("two campaigns stand side by side, and one name twice is its last two generations", "[cli][report]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"report", "html", "evening", "evening"}) == ExitCode::NotFound);
  (void)test::fill(cli, {.verdict = false, .pass = 2, .slowdown = 2});
  (void)test::fill(cli, {.name = "morning"});
  const std::string page = page_of(cli, {"evening", "evening"});
  CHECK_THAT(page, ContainsSubstring("<h1>evening, generation 1 beside evening, generation 2</h1>"));
  CHECK_THAT(page, ContainsSubstring("class=\"open\""));  // one of them has no verdict
  CHECK(data_of(page, "document-best").at("generation") == 1);
  CHECK(data_of(page, "document-best-2").at("generation") == 2);
  const auto charts = data_of(page, "charts");
  REQUIRE(charts.size() > 3);
  CHECK(charts[0].at("id") == "side-gains");
  CHECK(charts[1].at("id") == "sides");
  CHECK(charts[1].at("rows").size() == 4);
  std::set<std::string> ids;
  for (const auto& chart : charts) CHECK(ids.insert(chart.at("id")).second);
  CHECK_THAT(page_of(cli, {"evening", "morning"}),
             ContainsSubstring("evening, generation 2 beside morning, generation 1"));
  CHECK(cli.nocturne({"report", "html", "evening", "morning", "evening"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"report", "html", "evening", "morning", "--generation", "1"}) == ExitCode::Usage);
}
