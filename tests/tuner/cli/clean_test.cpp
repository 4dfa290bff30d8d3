#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "measure/artifact/artifact.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/cli/upkeep/leftovers.hpp"
#include "tuner/deploy/exporter.hpp"

using namespace nocturne;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
namespace fs = std::filesystem;

namespace {

/// Every file below, with its contents.
std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && path.find("nocturne.db") == std::string::npos)
      files[path] = test::read_file(entry.path());
  }
  return files;
}

/// A real build of a program that does nothing; `flag` makes it another one.
std::string build(const test::CliFixture& cli, const std::string& flag) {
  test::make_file(cli.folder() / "source" / "main.cpp", "int main() { return 0; }\n");
  measure::ArtifactStore store(cli.data() / "builds");
  const auto artifact = store.obtain({.name = "nothing",
                                      .source_root = cli.folder() / "source",
                                      .sources = {"main.cpp"},
                                      .include = {},
                                      .standard = "c++17",
                                      .defines = {flag},
                                      .libraries = {},
                                      .flags = {},
                                      .uses = {}},
                                     {.optimisation = "O0"}, {});
  if (!artifact) FAIL(artifact.error().reason << artifact.error().log_tail);
  return artifact->key;
}

}  // namespace

TEST_CASE("clean without --yes deletes nothing", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, {}, 24h * 60);
  const auto before = snapshot(cli.data());
  CHECK(cli.nocturne({"clean"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Would remove 5 of 5"));
  CHECK(cli.nocturne({"clean", "--max-size", "0B"}) != ExitCode::Ok);  // not a size
  CHECK(cli.nocturne({"clean", "--older-than", "1s", "--max-size", "1B", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("dry_run") == true);
  CHECK(cli.json().at("chosen").size() == 5);
  CHECK(cli.json().at("removed") == 0);
  CHECK(snapshot(cli.data()) == before);
}

TEST_CASE("clean drops old run folders and keeps young ones and every record", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli, {.name = "old", .artifact = {}, .machine = {}}, 24h * 60);
  (void)test::fill(cli, {.name = "young", .artifact = {}, .machine = {}}, 24h);
  CHECK(cli.nocturne({"clean", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("removed") == 5);
  CHECK(cli.json().at("kept") == 5);
  CHECK_FALSE(fs::exists(cli.runs() / "old-run-0"));
  CHECK(fs::exists(cli.runs() / "young-run-0" / "events.jsonl"));
  CHECK(cli.nocturne({"show", "1", "old", "--json", "--samples"}) == ExitCode::Ok);
  CHECK(cli.json().at("runs")[0].at("samples").size() == 12);
  CHECK(cli.nocturne({"clean", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("removed") == 0);
}

TEST_CASE("clean never touches runs of a campaign that is being tuned", "[cli]") {
  test::CliFixture cli;
  const auto owner = test::fill(cli, {.name = "tuned", .finished = false, .artifact = {}, .machine = {}}, 24h * 60);
  const auto before = snapshot(cli.data());
  CHECK(cli.nocturne({"clean", "--older-than", "1s", "--max-size", "1B", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("removed") == 0);
  CHECK(snapshot(cli.data()) == before);
}

TEST_CASE("clean drops builds but those that a profile runs", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const std::string kept = build(cli, "KEPT");
  const std::string dropped = build(cli, "DROPPED");
  deploy::Profile profile = test::sample_profile();
  profile.training.artifact = kept;
  test::make_file(cli.data() / "profiles" / "p.json", deploy::export_json(profile));
  CHECK(cli.nocturne({"clean", "--max-size", "1B", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(cli.data() / "builds" / kept / "nothing"));
  CHECK_FALSE(fs::exists(cli.data() / "builds" / dropped));
  CHECK_THAT(cli.err(), ContainsSubstring("an exported profile runs it"));

  // A profile that cannot be read may need any build.
  const std::string again = build(cli, "DROPPED");
  test::make_file(cli.data() / "profiles" / "torn.json", "{");
  CHECK(cli.nocturne({"clean", "--max-size", "1B", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(cli.data() / "builds" / again));
  CHECK(cli.nocturne({"list", "builds", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("builds").size() == 2);
}

TEST_CASE("clean removes no folder but one of a run in the runs folder", "[cli]") {
  test::CliFixture cli;
  const fs::path precious = cli.folder() / "precious";
  test::make_file(precious / "thesis.txt", "years of work");
  {
    const auto store = test::fill(cli, {}, 24h * 60);
    // A link where a run's folder was, to somewhere else.
    fs::remove_all(cli.runs() / "evening-run-0");
    fs::create_directory_symlink(precious, cli.runs() / "evening-run-0");
  }
  CHECK(cli.nocturne({"clean", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(precious / "thesis.txt"));
  CHECK_FALSE(fs::exists(cli.runs() / "evening-run-1"));
  // Another data folder: what the database names lies outside of it and stays.
  test::CliFixture other;
  CHECK(other.nocturne({"clean", "--yes", "--older-than", "1s", "--db", cli.database().string()}) == ExitCode::Ok);
  CHECK(fs::exists(precious / "thesis.txt"));
}

TEST_CASE("the size of a folder does not follow links", "[cli]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "a" / "x", std::string(100, 'x'));
  test::make_file(folder.path() / "b" / "y", std::string(1000, 'y'));
  fs::create_directory_symlink(folder.path() / "b", folder.path() / "a" / "link");
  CHECK(cli::folder_bytes(folder.path() / "a") == 100);
  CHECK(cli::folder_bytes(folder.path() / "nothing") == 0);
}

TEST_CASE("clean says what would go with a campaign, and takes it out with its folders alone", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  (void)test::fill(cli, {.name = "night", .artifact = {}, .machine = {}});
  const auto heartbeat = cli.data() / "nocturne.db-heartbeat-1.json";
  const auto other = cli.data() / "nocturne.db-model-2.json";
  test::make_file(heartbeat, "{}");
  test::make_file(other, "{}");
  CHECK(cli.nocturne({"clean", "--campaign", "evening"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Goes      all of it: trials 6, run folders 5"));
  CHECK_THAT(cli.out(), ContainsSubstring("Would take it out. Add --yes"));
  CHECK(fs::exists(cli.runs() / "evening-run-0"));
  CHECK(cli.nocturne({"best", "evening"}) == ExitCode::Ok);

  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--yes"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Taken out. The database has "));
  CHECK_FALSE(fs::exists(cli.runs() / "evening-run-0"));
  CHECK_FALSE(fs::exists(heartbeat));
  CHECK(fs::exists(other));
  CHECK(cli.nocturne({"best", "evening"}) == ExitCode::NotFound);
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--yes"}) == ExitCode::NotFound);
  CHECK(fs::exists(cli.runs() / "night-run-0" / "events.jsonl"));
  CHECK(cli.nocturne({"best", "night"}) == ExitCode::Ok);
}

TEST_CASE("clean takes out no campaign that is tuned, and none of several generations unless it is named", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  (void)test::fill(cli, {.pass = 2});
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--yes"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("has the generations 1, 2: say with --generation"));
  CHECK(cli.nocturne({"clean", "--generation", "1", "--yes"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"clean", "--campaign", "", "--yes"}) == ExitCode::Usage);  // a variable of a script that is empty
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--max-size", "1B"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--generation", "1", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("generation") == 1);
  CHECK(cli.nocturne({"list", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("campaigns").size() == 1);

  const auto owner = test::fill(cli, {.name = "tuned", .finished = false});
  CHECK(cli.nocturne({"clean", "--campaign", "tuned", "--yes"}) == ExitCode::Unavailable);
  CHECK_THAT(cli.err(), ContainsSubstring("'tuned' is being tuned by process"));
  // The file is in use: what is free in it stays there.
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--yes"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("'tuned' is being tuned"));
  CHECK(fs::exists(cli.runs() / "tuned-run-0"));
}

TEST_CASE("clean names who began with what a campaign knows, and keeps the runs that others reuse", "[cli]") {
  test::CliFixture cli;
  {
    db::Store store = test::fill(cli);
    const auto source = store.load_campaign("evening", {});
    const auto reused = store.list_trials({.campaign = source.id}).front();
    const auto heir = store.begin_or_resume_campaign(
        {.name = "heir",
         .identity = "h",
         .strategy = "random",
         .history = std::vector<db::HistorySource>{{.campaign = source.id, .same = true, .trials = 6}}});
    (void)store.reuse_trial(heir.id, {.number = 0, .configuration = reused.trial.configuration, .key = reused.key},
                            reused.id);
  }
  CHECK(cli.nocturne({"clean", "--campaign", "evening", "--yes"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("run folders 4"));
  CHECK_THAT(cli.out(), ContainsSubstring("reuse: of trials 1"));
  CHECK_THAT(cli.out(), ContainsSubstring("Missed    by heir --generation 1"));
  CHECK(fs::exists(cli.runs() / "evening-run-0"));
  CHECK_FALSE(fs::exists(cli.runs() / "evening-run-1"));
  CHECK(cli.nocturne({"show", "0", "heir", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("runs").size() == 1);
}
