#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "measure/artifact/artifact.hpp"
#include "tests/tuner/cli/desk.hpp"
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
    if (entry.is_regular_file() && path.find("nocturne.db") == std::string::npos) {
      files[path] = test::read_file(entry.path());
    }
  }
  return files;
}

/// A real build of a program that does nothing; `flag` makes it another one.
std::string build(const test::Desk& desk, const std::string& flag) {
  test::make_file(desk.folder() / "source" / "main.cpp", "int main() { return 0; }\n");
  measure::ArtifactStore store(desk.data() / "builds");
  const auto artifact = store.obtain({.name = "nothing",
                                      .source_root = desk.folder() / "source",
                                      .sources = {"main.cpp"},
                                      .include = {},
                                      .standard = "c++17",
                                      .defines = {flag},
                                      .libraries = {},
                                      .flags = {},
                                      .uses = {}},
                                     {.optimisation = "O0"}, {});
  if (!artifact) {
    FAIL(artifact.error().reason << artifact.error().log_tail);
  }
  return artifact->key;
}

}  // namespace

TEST_CASE("clean without --yes deletes nothing", "[cli]") {
  test::Desk desk;
  (void)test::fill(desk, {}, 24h * 60);
  const auto before = snapshot(desk.data());
  CHECK(desk.nocturne({"clean"}) == ExitCode::Ok);
  CHECK_THAT(desk.out(), ContainsSubstring("Would remove 5 of 5"));
  CHECK(desk.nocturne({"clean", "--max-size", "0B"}) != ExitCode::Ok);  // not a size
  CHECK(desk.nocturne({"clean", "--older-than", "1s", "--max-size", "1B", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("dry_run") == true);
  CHECK(desk.json().at("chosen").size() == 5);
  CHECK(desk.json().at("removed") == 0);
  CHECK(snapshot(desk.data()) == before);
}

TEST_CASE("clean drops old run folders and keeps young ones and every record", "[cli]") {
  test::Desk desk;
  (void)test::fill(desk, {.name = "old", .artifact = {}, .machine = {}}, 24h * 60);
  (void)test::fill(desk, {.name = "young", .artifact = {}, .machine = {}}, 24h);
  CHECK(desk.nocturne({"clean", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("removed") == 5);
  CHECK(desk.json().at("kept") == 5);
  CHECK_FALSE(fs::exists(desk.runs() / "old-run-0"));
  CHECK(fs::exists(desk.runs() / "young-run-0" / "events.jsonl"));
  CHECK(desk.nocturne({"show", "1", "old", "--json", "--samples"}) == ExitCode::Ok);
  CHECK(desk.json().at("runs")[0].at("samples").size() == 12);
  CHECK(desk.nocturne({"clean", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("removed") == 0);
}

TEST_CASE("clean never touches runs of a campaign that is being tuned", "[cli]") {
  test::Desk desk;
  const auto owner = test::fill(desk, {.name = "tuned", .finished = false, .artifact = {}, .machine = {}}, 24h * 60);
  const auto before = snapshot(desk.data());
  CHECK(desk.nocturne({"clean", "--older-than", "1s", "--max-size", "1B", "--yes", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("removed") == 0);
  CHECK(snapshot(desk.data()) == before);
}

TEST_CASE("clean drops builds but those that a profile runs", "[cli]") {
  test::Desk desk;
  (void)test::fill(desk);
  const std::string kept = build(desk, "KEPT");
  const std::string dropped = build(desk, "DROPPED");
  deploy::Profile profile = test::sample_profile();
  profile.training.artifact = kept;
  test::make_file(desk.data() / "profiles" / "p.json", deploy::export_json(profile));
  CHECK(desk.nocturne({"clean", "--max-size", "1B", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(desk.data() / "builds" / kept / "nothing"));
  CHECK_FALSE(fs::exists(desk.data() / "builds" / dropped));
  CHECK_THAT(desk.err(), ContainsSubstring("an exported profile runs it"));

  // A profile that cannot be read may need any build.
  const std::string again = build(desk, "DROPPED");
  test::make_file(desk.data() / "profiles" / "torn.json", "{");
  CHECK(desk.nocturne({"clean", "--max-size", "1B", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(desk.data() / "builds" / again));
  CHECK(desk.nocturne({"list", "builds", "--json"}) == ExitCode::Ok);
  CHECK(desk.json().at("builds").size() == 2);
}

TEST_CASE("clean removes no folder but one of a run in the runs folder", "[cli]") {
  test::Desk desk;
  const fs::path precious = desk.folder() / "precious";
  test::make_file(precious / "thesis.txt", "years of work");
  {
    const auto store = test::fill(desk, {}, 24h * 60);
    // A link where a run's folder was, to somewhere else.
    fs::remove_all(desk.runs() / "evening-run-0");
    fs::create_directory_symlink(precious, desk.runs() / "evening-run-0");
  }
  CHECK(desk.nocturne({"clean", "--yes"}) == ExitCode::Ok);
  CHECK(fs::exists(precious / "thesis.txt"));
  CHECK_FALSE(fs::exists(desk.runs() / "evening-run-1"));
  // Another data folder: what the database names lies outside of it and stays.
  test::Desk other;
  CHECK(other.nocturne({"clean", "--yes", "--older-than", "1s", "--db", desk.database().string()}) == ExitCode::Ok);
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
