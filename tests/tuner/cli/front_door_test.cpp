// space, doctor, schema and completion, as the user or a script meets them.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
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
std::string bash_completes(const test::CliFixture& cli, const std::string& script, const std::string& words) {
  const fs::path file = cli.folder() / "completion.bash";
  const fs::path result = cli.folder() / "offered";
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
  test::CliFixture cli;
  CHECK(cli.nocturne({"space", kExample}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("8 configurations are valid, of 8 combinations; 1 build"));
  CHECK_THAT(cli.out(), ContainsSubstring("wait_policy"));
  CHECK_THAT(cli.out(), ContainsSubstring("assumed"));
  CHECK_FALSE(fs::exists(cli.database()));
}

TEST_CASE("space --json has the same for machines", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"space", kExample, "--json", "--list", "100"}) == ExitCode::Ok);
  const auto document = cli.json();
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
  test::CliFixture cli;
  CHECK(cli.nocturne({"space", kExample, "--json", "--sample", "4", "--seed", "7"}) == ExitCode::Ok);
  const auto first = cli.json()["configurations"];
  CHECK(first.size() == 4);
  CHECK(cli.nocturne({"space", kExample, "--json", "--sample", "4", "--seed", "7"}) == ExitCode::Ok);
  CHECK(cli.json()["configurations"] == first);
}

TEST_CASE("a wrong file is a usage error with every problem, in both forms", "[cli]") {
  test::CliFixture cli;
  const fs::path file = cli.folder() / "wrong.json";
  std::ofstream(file)
      << "{\"campaign\": \"a\",\n \"budget\": {\"wal\": \"5min\"},\n \"space\": {\"parameters\": []}}\n";
  CHECK(cli.nocturne({"space", file.string()}) == ExitCode::Usage);
  CHECK(cli.out().empty());
  CHECK_THAT(cli.err(), ContainsSubstring("wrong.json:2:13: /budget/wal: unknown key"));
  CHECK_THAT(cli.err(), ContainsSubstring("Did you mean 'wall'?"));
  CHECK_THAT(cli.err(), ContainsSubstring("wrong.json:3:26: /space/parameters: a list of 0 values"));
  CHECK(cli.nocturne({"space", file.string(), "--json"}) == ExitCode::Usage);
  REQUIRE(cli.json()["problems"].size() == 2);
  CHECK(cli.json()["problems"][0]["pointer"] == "/budget/wal");
  CHECK(cli.nocturne({"space", (cli.folder() / "nowhere.json").string()}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("No such file"));
  CHECK(cli.nocturne({"space"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"space", kExample, "--list", "-1"}) == ExitCode::Usage);
}

TEST_CASE("schema prints the schema that checks files", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"schema", "campaign"}) == ExitCode::Ok);
  CHECK(cli.out() == tuner::campaign_schema());
  CHECK(cli.out().ends_with("}\n"));
  CHECK(cli.json()["properties"].contains("campaign"));
}

TEST_CASE("doctor names every subject and sums up in its exit code", "[cli]") {
  test::CliFixture cli;
  const ExitCode code = cli.nocturne({"doctor", "--json"});
  const auto document = cli.json();
  CHECK((code == ExitCode::Ok) == document["can_measure"].get<bool>());
  CHECK((code == ExitCode::Ok || code == ExitCode::Negative));
  CHECK(document["findings"].size() >= 15);
  for (const auto& finding : document["findings"]) {
    CAPTURE(finding.dump());
    CHECK_FALSE(finding["found"].get<std::string>().empty());
    CHECK((finding["health"] == "good" || !finding["meaning"].get<std::string>().empty()));
  }
  CHECK_FALSE(fs::exists(cli.database()));
  CHECK(cli.nocturne({"doctor"}) == code);
  CHECK_THAT(cli.out(), ContainsSubstring("processor"));
}

TEST_CASE("bash completes subcommands, options and closed sets of values, from the command line itself", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"completion", "bash"}) == ExitCode::Ok);
  const std::string script = cli.out();
  const std::string all = bash_completes(cli, script, "nocturne ''");
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    CAPTURE(subcommand.name);
    CHECK(all.contains(subcommand.name) != subcommand.group.empty());
  }
  CHECK(bash_completes(cli, script, "nocturne do") == "doctor");
  CHECK(bash_completes(cli, script, "nocturne space --sa") == "--sample");
  CHECK(bash_completes(cli, script, "nocturne --db x space --sa") == "--sample");
  CHECK(bash_completes(cli, script, "nocturne completion ''") == "bash fish zsh");
  CHECK(bash_completes(cli, script, "nocturne space --db ''").empty());  // a file name: bash's own
  CHECK(bash_completes(cli, script, "nocturne apply profile.json -- ls --").empty());
}

TEST_CASE("every option of every subcommand is in every completion script", "[cli]") {
  test::CliFixture cli;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    CHECK(cli.nocturne({"completion", shell}) == ExitCode::Ok);
    const std::string script = cli.out();
    for (const char* word : {"sample", "older-than", "samples", "epochs", "json", "completion", "doctor"}) {
      CAPTURE(word);
      CHECK_THAT(script, ContainsSubstring(word));
    }
  }
  CHECK(cli.nocturne({"completion", "tcsh"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("bash"));
}
