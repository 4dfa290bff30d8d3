#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "db/store.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/ask_tell/ask_tell.hpp"

using namespace nocturne;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
using Json = nlohmann::json;

namespace {

constexpr const char* kHill = R"({"space": {"parameters": [
    {"name": "x", "range": [0, 19]}, {"name": "y", "range": [0, 19]},
    {"name": "kind", "values": ["wide", "tall"]}]}})";

/// A search in a folder, and what a user does with it.
struct SearchFixture : test::CliFixture {
  std::string search = (folder() / "search").string();
  std::string file = (folder() / "space.json").string();

  explicit SearchFixture(const std::string& text = kHill) { std::ofstream(file) << text; }

  std::vector<Json> ask(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"ask", search};
    words.insert(words.end(), more.begin(), more.end());
    (void)nocturne(words);
    std::vector<Json> lines;
    std::istringstream stream(out());
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  ExitCode tell(const Json& answer) { return nocturne({"tell", search, answer.dump()}); }
};

double hill(const Json& configuration) {
  const double x = configuration.at("x"), y = configuration.at("y");
  return 1 + (x - 13) * (x - 13) + (y - 4) * (y - 4) + (configuration.at("kind") == "tall" ? 0 : 5);
}

}  // namespace

TEST_CASE("what was asked by one call is told by another, and the search goes on", "[cli]") {
  SearchFixture cli;
  double best = 1e9;
  std::set<std::string> asked;
  for (int i = 0; i < 40; ++i) {
    const auto lines = i == 0 ? cli.ask({"--space", cli.file}) : cli.ask();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].at("number") == i);
    CHECK(asked.insert(lines[0].at("configuration").dump()).second);
    const double value = hill(lines[0].at("configuration"));
    best = std::min(best, value);
    REQUIRE(cli.tell({{"number", i}, {"value", value}}) == ExitCode::Ok);
  }
  CHECK(best < 5);  // 8 of 800 are: at random one in 40 is expected to be no better than 17
  CHECK_THAT(cli.out(), ContainsSubstring("40 finished, 0 of them failed; 0 pending") &&
                            ContainsSubstring(fmt::format("best {:.6g}", best)));
}

TEST_CASE("a search of many processes proposes what one long one does", "[cli]") {
  SearchFixture one, other;
  std::vector<std::string> apart, together;
  for (int i = 0; i < 20; ++i) {
    const auto lines = i == 0 ? one.ask({"--space", one.file}) : one.ask();
    apart.push_back(lines.at(0).at("configuration").dump());
    (void)one.tell({{"number", i}, {"value", hill(lines[0].at("configuration"))}});
  }
  const auto file = tuner::load_space_file(other.file, {}).value();
  const auto search = tuner::AskTell::open(other.search, &file, std::chrono::milliseconds(0)).value();
  for (int i = 0; i < 20; ++i) {
    const auto asked = search->ask(1).at(0);
    together.push_back(asked.configuration.to_json().dump());
    REQUIRE(search->tell({.number = i, .configuration = {}, .values = {hill(asked.configuration.to_json())}}));
  }
  CHECK(apart == together);
}

TEST_CASE("a batch knows what is pending: nothing is asked twice, and answers come in any order", "[cli]") {
  SearchFixture cli;
  const auto first = cli.ask({"--space", cli.file, "--count", "6"});
  const auto second = cli.ask({"--count", "6"});
  REQUIRE(first.size() == 6);
  REQUIRE(second.size() == 6);
  std::set<std::string> all;
  for (const auto& list : {first, second})
    for (const auto& each : list) all.insert(each.at("configuration").dump());
  CHECK(all.size() == 12);
  CHECK(cli.tell({{"number", 9}, {"value", 3.5}}) == ExitCode::Ok);
  CHECK(cli.nocturne({"tell", cli.search, R"({"number": 2, "failed": "no room", "outcome": "out_of_memory"})",
                      "--json"}) == ExitCode::Ok);
  const auto standing = cli.json().at("standing");
  CHECK(standing.at("pending") == 10);
  CHECK(standing.at("failed") == 1);
  CHECK(standing.at("best").at("number") == 9);
  const auto store = db::Store::open(tuner::search_database(cli.search), db::Mode::ReadOnly);
  const auto stored = store.load_numbered_trial(store.list_campaigns().at(0).id, 2).trial;
  CHECK(stored.outcome == space::Outcome::OutOfMemory);
  CHECK(stored.reason == "no room");
}

TEST_CASE("several values of one configuration are told as their mean and its error", "[cli]") {
  SearchFixture cli;
  (void)cli.ask({"--space", cli.file});
  CHECK(cli.nocturne({"tell", cli.search, R"({"number": 0, "values": [1, 2, 3]})", "--json"}) == ExitCode::Ok);
  const auto best = cli.json().at("standing").at("best");
  CHECK(best.at("value") == 2);
  CHECK(best.at("standard_error").get<double>() == Approx(1 / std::sqrt(3.0)));
  CHECK(best.at("runs") == 3);
  // And a later answer replaces it.
  CHECK(cli.nocturne({"tell", cli.search, R"({"number": 0, "value": 7})", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("standing").at("best").at("value") == 7);
  CHECK(cli.json().at("standing").at("finished") == 1);
}

TEST_CASE("what nobody asked for is told by its configuration, and is not asked any more", "[cli]") {
  SearchFixture cli(R"({"space": {"parameters": [{"name": "a", "values": [1, 2, 3]}]}})");
  (void)cli.ask({"--space", cli.file});
  CHECK(cli.tell({{"configuration", {{"a", 3}}}, {"value", 4}}) == ExitCode::Ok);
  CHECK(cli.ask().size() == 1);
  CHECK(cli.nocturne({"ask", cli.search}) == ExitCode::Negative);
  CHECK_THAT(cli.err(), ContainsSubstring("Nothing is left to ask"));
  CHECK(cli.tell({{"configuration", {{"a", 4}}}, {"value", 4}}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("not of this space"));
}

TEST_CASE("the default is asked first where the space file names one", "[cli]") {
  SearchFixture cli(R"({"space": {"parameters": [{"name": "a", "range": [1, 500], "default": 77},
                                                 {"name": "b", "range": [0.0, 2.0]}]}})");
  const auto first = cli.ask({"--space", cli.file}).at(0);
  CHECK(first.at("configuration") == Json{{"a", 77}, {"b", 0.0}});
  CHECK(cli.tell({{"configuration", {{"a", 3}, {"b", 1}}}, {"value", 4}}) == ExitCode::Ok);  // 1 is a real number, too
}

TEST_CASE("a search says what is wrong, where, and what to do", "[cli]") {
  SearchFixture cli;
  CHECK(cli.nocturne({"ask", cli.search}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("holds no search") && ContainsSubstring("--space FILE"));
  (void)cli.ask({"--space", cli.file});
  std::ofstream(cli.file) << R"({"space": {"parameters": [{"name": "z", "range": [0, 19]}]}})";
  CHECK(cli.nocturne({"ask", cli.search, "--space", cli.file}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("a search of another space") && ContainsSubstring("folder"));
  const auto refuses = [&](const char* answer, const char* sentence) {
    CAPTURE(answer);
    CHECK(cli.nocturne({"tell", cli.search, answer}) == ExitCode::Usage);
    CHECK_THAT(cli.err(), ContainsSubstring("answer 1: ") && ContainsSubstring(sentence));
  };
  refuses("hello", "this is not JSON: hello");
  refuses(R"({"number": 0})", "one of 'value', 'values' and 'failed'");
  refuses(R"({"value": 0})", "one of 'number' and 'configuration'");
  refuses(R"({"number": 5, "value": 1})", "number 5 was never asked");
  refuses(R"({"number": 0, "value": -1})", R"("scale": "linear")");
  refuses(R"({"number": 0, "valeu": 1})", "did you mean 'value'?");
  refuses(R"({"number": 0, "failed": "x", "outcome": "ok"})", "'outcome' is one of failed, unsupported");
}

TEST_CASE("a folder that another process has open is waited for, then said to be busy", "[cli]") {
  SearchFixture cli;
  const auto file = tuner::load_space_file(cli.file, {}).value();
  const auto held = tuner::AskTell::open(cli.search, &file, std::chrono::milliseconds(0)).value();
  const auto refused = tuner::AskTell::open(cli.search, nullptr, std::chrono::milliseconds(0));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == tuner::AskTell::Refused::Busy);
}

TEST_CASE("ask --lines answers each line of its input, wrong ones too", "[cli]") {
  SearchFixture cli;
  cli.input = "{\"ask\": 2}\n{\"tell\": {\"number\": 1, \"value\": 3}}\nnonsense\n{\"ask\": 0}\n{\"standing\": true}\n";
  const auto lines = cli.ask({"--space", cli.file, "--lines"});
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].at("asked").size() == 2);
  CHECK(lines[1] == Json{{"told", 1}});
  CHECK_THAT(lines[2].at("error").get<std::string>(), ContainsSubstring("not JSON"));
  CHECK_THAT(lines[3].at("error").get<std::string>(), ContainsSubstring("from 1 to"));
  CHECK(lines[4].at("standing").at("best").at("value") == 3);
}

TEST_CASE("pages of times refuse a search whose larger values are better", "[cli]") {
  SearchFixture cli(R"({"objective": {"direction": "maximise"},
                        "space": {"parameters": [{"name": "a", "values": [1, 2, 3]}]}})");
  (void)cli.ask({"--space", cli.file});
  CHECK(cli.tell({{"number", 0}, {"value", 4}}) == ExitCode::Ok);
  const auto database = tuner::search_database(cli.search).string();
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--db", database});
    return cli.nocturne(words) == ExitCode::Usage && cli.err().find("whose values are no times") != std::string::npos;
  };
  CHECK(refused({"best"}));
  CHECK(refused({"report", "html"}));
  CHECK(cli.nocturne({"list", "campaigns", "--db", database}) == ExitCode::Ok);
}

TEST_CASE("pages read a search whose values are as times", "[cli]") {
  SearchFixture cli;
  for (int i = 0; i < 8; ++i) {
    const auto lines = i == 0 ? cli.ask({"--space", cli.file}) : cli.ask();
    (void)cli.tell({{"number", i}, {"value", hill(lines.at(0).at("configuration"))}});
  }
  const auto database = tuner::search_database(cli.search).string();
  for (const char* page : {"best", "explain", "model", "pareto", "status"}) {
    CAPTURE(page, cli.err());
    const auto code = cli.nocturne({page, "--db", database});
    CHECK((code == ExitCode::Ok || code == ExitCode::Negative));
  }
  CHECK(cli.nocturne({"list", "trials", "--db", database, "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("trials").size() == 8);
}
