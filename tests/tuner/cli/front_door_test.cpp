// space, doctor, schema and completion, as a person or a script meets them.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/desk.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/cli.hpp"
#include "tuner/schema/campaign_schema.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
namespace fs = std::filesystem;

namespace {

const std::string kExample = std::string(NOCTURNE_SOURCE_DIR) + "/examples/mnist-exhaustive-small.json";

/// What bash offers after `words`, the last of which is being typed, sorted and joined by spaces.
std::string bash_completes(const test::Desk& desk, const std::string& script, const std::string& words) {
  const fs::path file = desk.folder() / "completion.bash";
  const fs::path result = desk.folder() / "offered";
  std::ofstream(file) << script << "\nCOMP_WORDS=(" << words << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_nocturne\n"
                      << "printf '%s\\n' \"${COMPREPLY[@]}\" | sort | tr '\\n' ' '\n";
  REQUIRE(std::system(("bash " + file.string() + " > " + result.string()).c_str()) == 0);
  std::ifstream stream(result);
  std::string text;
  std::getline(stream, text);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  return text;
}

}  // namespace

TEST_CASE("space tells size, parameters, constraints and time without measuring", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"space", kExample}) == ExitCode::Ok);
  CHECK_THAT(desk.out(), ContainsSubstring("8 configurations are valid, of 8 combinations; 1 build"));
  CHECK_THAT(desk.out(), ContainsSubstring("wait_policy"));
  CHECK_THAT(desk.out(), ContainsSubstring("assumed"));
  CHECK_FALSE(fs::exists(desk.database()));
}

TEST_CASE("space --json has the same for machines", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"space", kExample, "--json", "--list", "100"}) == ExitCode::Ok);
  const auto document = desk.json();
  CHECK(document["campaign"] == "mnist-exhaustive-small");
  CHECK(document["valid"]["number"] == 8);
  CHECK(document["valid"]["kind"] == "exact");
  CHECK(document["builds"]["number"] == 1);
  CHECK(document["parameters"].size() == 3);
  CHECK(document["configurations"].size() == 8);
  CHECK(document["configurations"][0].size() == 3);
  CHECK(document["forecast"]["trials"] == 8);
  CHECK(document["identity"].get<std::string>().size() == 32);
}

TEST_CASE("space --sample draws the same configurations for the same seed", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"space", kExample, "--json", "--sample", "4", "--seed", "7"}) == ExitCode::Ok);
  const auto first = desk.json()["configurations"];
  CHECK(first.size() == 4);
  CHECK(desk.nocturne({"space", kExample, "--json", "--sample", "4", "--seed", "7"}) == ExitCode::Ok);
  CHECK(desk.json()["configurations"] == first);
}

TEST_CASE("a wrong file is a usage error with every problem, in both forms", "[cli]") {
  test::Desk desk;
  const fs::path file = desk.folder() / "wrong.json";
  std::ofstream(file)
      << "{\"campaign\": \"a\",\n \"budget\": {\"wal\": \"5min\"},\n \"space\": {\"parameters\": []}}\n";
  CHECK(desk.nocturne({"space", file.string()}) == ExitCode::Usage);
  CHECK(desk.out().empty());
  CHECK_THAT(desk.err(), ContainsSubstring("wrong.json:2:13: /budget/wal: unknown key"));
  CHECK_THAT(desk.err(), ContainsSubstring("Did you mean 'wall'?"));
  CHECK_THAT(desk.err(), ContainsSubstring("wrong.json:3:26: /space/parameters: a list of 0 values"));
  CHECK(desk.nocturne({"space", file.string(), "--json"}) == ExitCode::Usage);
  REQUIRE(desk.json()["problems"].size() == 2);
  CHECK(desk.json()["problems"][0]["pointer"] == "/budget/wal");
  CHECK(desk.nocturne({"space", (desk.folder() / "nowhere.json").string()}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("No such file"));
  CHECK(desk.nocturne({"space"}) == ExitCode::Usage);
  CHECK(desk.nocturne({"space", kExample, "--list", "-1"}) == ExitCode::Usage);
}

TEST_CASE("schema prints the schema that checks files", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"schema", "campaign"}) == ExitCode::Ok);
  CHECK(desk.out() == tuner::campaign_schema());
  CHECK(desk.out().ends_with("}\n"));
  CHECK(desk.json()["properties"].contains("campaign"));
}

TEST_CASE("doctor names every subject and sums up in its exit code", "[cli]") {
  test::Desk desk;
  const ExitCode code = desk.nocturne({"doctor", "--json"});
  const auto document = desk.json();
  CHECK((code == ExitCode::Ok) == document["can_measure"].get<bool>());
  CHECK((code == ExitCode::Ok || code == ExitCode::Negative));
  CHECK(document["findings"].size() >= 15);
  for (const auto& finding : document["findings"]) {
    CAPTURE(finding.dump());
    CHECK_FALSE(finding["found"].get<std::string>().empty());
    CHECK((finding["health"] == "good" || !finding["meaning"].get<std::string>().empty()));
  }
  CHECK_FALSE(fs::exists(desk.database()));
  CHECK(desk.nocturne({"doctor"}) == code);
  CHECK_THAT(desk.out(), ContainsSubstring("processor"));
}

TEST_CASE("bash completes verbs, options and closed sets of values, from the command line itself", "[cli]") {
  test::Desk desk;
  CHECK(desk.nocturne({"completion", "bash"}) == ExitCode::Ok);
  const std::string script = desk.out();
  const std::string all = bash_completes(desk, script, "nocturne ''");
  for (const cli::Verb& verb : cli::verbs()) {
    CAPTURE(verb.name);
    CHECK(all.contains(verb.name) != verb.group.empty());
  }
  CHECK(bash_completes(desk, script, "nocturne do") == "doctor");
  CHECK(bash_completes(desk, script, "nocturne space --sa") == "--sample");
  CHECK(bash_completes(desk, script, "nocturne --db x space --sa") == "--sample");
  CHECK(bash_completes(desk, script, "nocturne completion ''") == "bash fish zsh");
  CHECK(bash_completes(desk, script, "nocturne space --db ''").empty());  // a file name: bash's own
  CHECK(bash_completes(desk, script, "nocturne apply profile.json -- ls --").empty());
}

TEST_CASE("every option of every verb is in every completion script", "[cli]") {
  test::Desk desk;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    CHECK(desk.nocturne({"completion", shell}) == ExitCode::Ok);
    const std::string script = desk.out();
    for (const char* word : {"sample", "older-than", "samples", "epochs", "json", "completion", "doctor"}) {
      CAPTURE(word);
      CHECK_THAT(script, ContainsSubstring(word));
    }
  }
  CHECK(desk.nocturne({"completion", "tcsh"}) == ExitCode::Usage);
  CHECK_THAT(desk.err(), ContainsSubstring("bash"));
}
