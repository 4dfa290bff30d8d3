#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/preview/ahead.hpp"
#include "tuner/preview/first_campaign.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
using nlohmann::json;

namespace {

tuner::FoundHere found_here() {
  return {.file = "first.json",
          .cpu_model = "A processor */ of 2026",
          .cores = 4,
          .memory_bytes = std::int64_t{16} << 30,
          .has_bf16 = true,
          .has_avx512 = true,
          .compilers = {"g++", "clang++-19"},
          .allocators = {"glibc", "jemalloc"},
          .frameworks = {"onednn"},
          .more = {"mxnet-1.9.1"}};
}

space::Facts facts() {
  space::Facts facts;
  facts.set("machine.cores", std::int64_t{4});
  return facts;
}

tuner::CampaignSpec read(const tuner::FoundHere& found) {
  const auto spec = tuner::parse_campaign(tuner::first_campaign(found), "first.json", "/", facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return *spec;
}

/// A campaign of a worker that is never started.
std::string write_campaign(const test::CliFixture& cli) {
  const json document = {{"campaign", "small"},
                         {"worker", {{"command", {"/bin/false"}}}},
                         {"space",
                          {{"parameters",
                            {{{"name", "threads"}, {"stage", "run"}, {"range", {1, 4}}, {"default", 2}},
                             {{"name", "batch"}, {"stage", "run"}, {"values", {32, 64}}}}}}},
                         {"budget", {{"trials", 5}}}};
  const auto file = cli.folder() / "small.json";
  std::ofstream(file) << document.dump();
  return file.string();
}

}  // namespace

TEST_CASE("a first campaign varies what the machine has, and nothing else", "[preview]") {
  auto found = found_here();
  const auto all = read(found);
  for (const char* name : {"framework", "compiler", "march", "threads", "batch", "precision", "isa_cap", "allocator"}) {
    CAPTURE(name);
    CHECK(all.space.find(name) != nullptr);
  }
  found.has_bf16 = found.has_avx512 = false;
  found.compilers = {"g++"};
  found.allocators = {"glibc"};
  const auto less = read(found);
  for (const char* name : {"compiler", "precision", "isa_cap", "allocator"}) {
    CAPTURE(name);
    CHECK(less.space.find(name) == nullptr);
  }
}

TEST_CASE("a first campaign of a machine with another compiler alone builds with that", "[preview]") {
  auto found = found_here();
  found.compilers = {"clang++-19"};
  const auto spec = read(found);
  const auto* compiler = spec.space.default_configuration().find("compiler");
  REQUIRE(compiler != nullptr);
  CHECK(*compiler == space::Value(std::string("clang++-19")));
}

TEST_CASE("without a compiler a first campaign does not vary how the worker is built, and says so", "[preview]") {
  auto found = found_here();
  const std::string sentence = "onednn is the program that came along, and how it is built does not vary.";
  CHECK_THAT(tuner::first_campaign(found), !ContainsSubstring(sentence));
  found.compilers.clear();
  CHECK_THAT(tuner::first_campaign(found), ContainsSubstring(sentence));
  const auto spec = read(found);
  CHECK(spec.space.find("march") == nullptr);
  CHECK(spec.space.find("precision") != nullptr);
}

TEST_CASE("a first campaign varies caches and memory nodes where there are several, and spares slower cores",
          "[preview]") {
  auto found = found_here();
  CHECK_THAT(tuner::first_campaign(found), !ContainsSubstring("memory_policy") && !ContainsSubstring("fast_cores"));
  found.affinities = {"none", "close", "spread", "l3", "numa"};
  found.memory_policies = {"local", "interleave", "bind"};
  found.fast_cores = 2;
  auto machine = facts();
  machine.set("machine.fast_cores", std::int64_t{2});
  const auto spec = tuner::parse_campaign(tuner::first_campaign(found), "first.json", "/", machine);
  if (!spec) FAIL(tuner::to_text(spec.error()));
  CHECK(spec->space.find("affinity")->size() == 5);
  CHECK(spec->space.find("memory_policy")->size() == 3);
  CHECK(spec->space.find("threads")->size() == 4);
  CHECK(*spec->space.default_configuration().find("threads") == space::Value(std::int64_t{2}));
  CHECK_THAT(tuner::first_campaign(found), ContainsSubstring("4 cores, 2 of them fast"));
}

TEST_CASE("every line of a first campaign that varies something has a comment", "[preview]") {
  const auto text = tuner::first_campaign(found_here());
  CHECK_THAT(text, ContainsSubstring("A processor */ of 2026, 4 cores, 16 GiB"));
  CHECK_THAT(text, ContainsSubstring("mxnet-1.9.1"));
  std::string before;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); before = line) {
    if (!line.contains("{\"name\":") || line.contains("\"strategy\"")) continue;
    CAPTURE(line);
    CHECK(before.starts_with("      //"));
  }
}

TEST_CASE("init writes a campaign that can be read, and replaces no file", "[cli]") {
  test::CliFixture cli;
  const auto file = (cli.folder() / "first.json").string();
  const auto code = cli.nocturne({"init", file});
  if (code == ExitCode::Unavailable) SKIP("nothing here can train");
  REQUIRE(code == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Wrote ") && ContainsSubstring("--dry-run"));
  CHECK(cli.nocturne({"space", file, "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaign") == "first");
  CHECK(cli.nocturne({"init", file}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("is there already; --force"));
  CHECK(cli.nocturne({"init", cli.folder().string(), "--force"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("is a folder: name the file in it, such as"));
  CHECK(cli.nocturne({"init", file, "--force", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("file") == file);
  CHECK(cli.nocturne({"init", "-"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("\"campaign\": \"first\""));
}

TEST_CASE("tune --dry-run says what would be done, in order, and stores nothing", "[cli]") {
  test::CliFixture cli;
  const auto file = write_campaign(cli);
  REQUIRE(cli.nocturne({"tune", file, "--dry-run", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  CHECK(document.at("state") == "new");
  std::vector<std::string> steps;
  for (const auto& step : document.at("steps")) steps.push_back(step.at("what"));
  CHECK(steps == std::vector<std::string>{"default", "search", "finals"});
  CHECK(document.at("default") == json{{"threads", 2}, {"batch", 32}});
  CHECK(document.at("download_bytes") == 0);
  CHECK_FALSE(std::filesystem::exists(cli.database()));
  CHECK(cli.nocturne({"tune", file, "--dry-run"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("would begin") && ContainsSubstring("until 5 trials are measured"));
}

TEST_CASE("tune --set replaces values of the file, by place or by a parameter's name", "[cli]") {
  test::CliFixture cli;
  const auto file = write_campaign(cli);
  REQUIRE(cli.nocturne({"tune", file, "--dry-run", "--json", "--set", "/budget/wall=1h", "--set", "/budget/trials=null",
                        "--set", "/space/parameters/threads/default=4", "--set", "/description=words with spaces",
                        "--set", "/strategy/name=random"}) == ExitCode::Ok);
  CHECK(cli.json().at("budget_seconds") == 3600);
  CHECK(cli.json().at("default").at("threads") == 4);
}

TEST_CASE("tune --set says what is wrong with a setting, and where", "[cli]") {
  test::CliFixture cli;
  const auto file = write_campaign(cli);
  const auto refuses = [&](const std::string& setting, const std::string& sentence) {
    CAPTURE(setting);
    CHECK(cli.nocturne({"tune", file, "--dry-run", "--set", setting}) == ExitCode::Usage);
    CHECK_THAT(cli.err(), ContainsSubstring(sentence));
  };
  refuses("budget.wall=1h", "no setting such as /budget/wall=1h");
  refuses("/budget/wall=soon", "--set: /budget/wall: ");
  refuses("/budget/wal=1h", "--set: /budget/wal: unknown key \"wal\"");
  refuses("/space/parameters/thread/default=1", "did you mean 'threads'?");
  refuses("/space/parameters/7/default=1", "'7' is none of the 2");
  refuses("/campaign/name=x", "a value, with nothing in it");
}

TEST_CASE("a campaign of hours begins with what is not known of the machine, and with a preflight", "[preview]") {
  const auto spec = read(found_here());
  tuner::Ahead ahead{.survey = tuner::survey(spec.space, spec.facts), .costs = {}, .environments = {}, .forecast = {}};
  ahead.length = std::chrono::hours(8);
  ahead.environments.to_install = {"mxnet-1.9.1"};
  ahead.environments.download_bytes = 70'000'000;
  const auto words = [&](const tuner::KnownCampaign& known) {
    std::string all;
    for (const auto& step : tuner::plan_of(spec, ahead, known)) all += step.what + " ";
    return all;
  };
  CHECK(words({}) == "machine noise install preflight default search finals ");
  CHECK(words({.finished = 7, .pending = 2, .noise_known = true, .figures_known = true}) ==
        "install pending search finals ");
  CHECK(words({.finished = 7, .complete = true}).empty());
  ahead.length = std::chrono::minutes(5);
  ahead.environments.to_install.clear();
  CHECK(words({}) == "default search finals ");
}
