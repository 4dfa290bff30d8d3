#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/deployment_log.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/installation/installation.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

/// A profile that was measured on this very machine, under the name `here`.
deploy::Profile profile_here() {
  static const measure::MachineFacts facts = measure::probe_machine(tuner::find_installation().machine_roots());
  deploy::Profile profile = test::sample_profile();
  profile.measured_on.machine = measure::fingerprint_of(facts);
  return profile;
}

void save(const test::CliFixture& cli, const deploy::Profile& profile) {
  test::make_file(cli.data() / "profiles" / "here.json", deploy::export_json(profile));
}

/// The real program, because apply replaces the process.
test::ShellResult run_program(const test::CliFixture& cli, const std::string& words) {
  return test::shell("NOCTURNE_DATA='" + cli.data().string() + "' '" NOCTURNE_PROGRAM "' " + words + " 2>&1");
}

}  // namespace

TEST_CASE("apply becomes the command, under the profile's environment", "[cli]") {
  const test::CliFixture cli;
  save(cli, profile_here());
  const auto result = run_program(cli, "apply here -- sh -c 'echo \"<$OMP_NUM_THREADS>\"; exit 42'");
  CAPTURE(result.output);
  CHECK(result.code == 42);
  CHECK_THAT(result.output, ContainsSubstring("<2>"));
  // What follows -- belongs to the command, whatever it looks like.
  CHECK_THAT(run_program(cli, "apply here -- echo --db x list --force -- y").output,
             ContainsSubstring("--db x list --force -- y"));
  CHECK(run_program(cli, "apply here -- /nowhere/command").code == 127);
  CHECK(run_program(cli, "apply here -- /etc/passwd").code == 126);
}

TEST_CASE("apply refuses a machine that was not measured, and names the field", "[cli]") {
  test::CliFixture cli;
  deploy::Profile profile = profile_here();
  profile.measured_on.machine.set({.name = "cpu.model", .value = "Z80", .match = space::Match::Must});
  save(cli, profile);
  const auto refused = run_program(cli, "apply here -- echo ran");
  CHECK(refused.code == 125);
  CHECK_THAT(refused.output, ContainsSubstring("cpu.model") && ContainsSubstring("Z80") && !ContainsSubstring("ran\n"));
  const auto forced = run_program(cli, "apply --force here -- echo ran");
  CHECK(forced.code == 0);
  CHECK_THAT(forced.output, ContainsSubstring("forced") && ContainsSubstring("ran\n"));

  CHECK(cli.nocturne({"apply", "here", "--dry-run", "--json", "--", "echo", "ran"}) == ExitCode::Refused);
  CHECK(cli.json().at("would_run") == false);
  CHECK(cli.json().at("differences")[0].at("field") == "cpu.model");
  CHECK(cli.json().at("differences")[0].at("profile") == "Z80");
}

TEST_CASE("apply without a command says which path of the training is missing", "[cli]") {
  test::CliFixture cli;
  save(cli, profile_here());
  CHECK(cli.nocturne({"apply", "here"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("/opt/builds/k/worker") && ContainsSubstring("/opt/data/mnist"));
}

TEST_CASE("apply without a command runs the profile's own training", "[cli]") {
  const test::CliFixture cli;
  deploy::Profile profile = profile_here();
  profile.training.program = cli.folder() / "worker";
  profile.training.data_folder = cli.folder();
  test::make_file(profile.training.program, "#!/bin/sh\necho \"$@\" \"$OMP_NUM_THREADS\"\ncat \"$3\"\nexit 9\n", true);
  save(cli, profile);
  const std::string out = (cli.folder() / "out").string();
  const auto result = run_program(cli, "apply here --epochs 2 --seed 5 --output " + out);
  CAPTURE(result.output);
  CHECK(result.code == 9);
  CHECK_THAT(result.output,
             ContainsSubstring("--quiet --request " + out + "/request.json --events " + out + "/events.jsonl 2\n"));
  const auto request = nlohmann::json::parse(test::read_file(out + "/request.json"));
  CHECK(request.at("epochs") == 2);
  CHECK(request.at("seed") == 5);
  CHECK(request.at("configuration") == profile.configuration.to_json());
  CHECK(run_program(cli, "apply here --steps 7 --output " + out).code == 9);
  const auto steps = nlohmann::json::parse(test::read_file(out + "/request.json"));
  CHECK(steps.at("steps") == 7);
  CHECK(steps.at("epochs") == 0);
}

TEST_CASE("apply --dry-run prints the line and runs nothing", "[cli]") {
  test::CliFixture cli;
  save(cli, profile_here());
  const std::string marker = (cli.folder() / "marker").string();
  CHECK(cli.nocturne({"apply", "here", "--dry-run", "--", "touch", marker}) == ExitCode::Ok);
  CHECK_FALSE(std::filesystem::exists(marker));
  CHECK_THAT(cli.out(), ContainsSubstring("OMP_NUM_THREADS=2") && ContainsSubstring("touch " + marker));
}

TEST_CASE("what cannot be watched is refused with the reason, before anything runs", "[cli]") {
  test::CliFixture cli;
  deploy::Profile profile = profile_here();
  save(cli, profile);
  CHECK(cli.nocturne({"apply", "here", "--watch"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("does not say what a step takes"));
  profile.step = deploy::StepForecast{.seconds = 0.01, .sd = 0.05, .degrees = 4, .processes = 1};
  save(cli, profile);
  CHECK(cli.nocturne({"apply", "here", "--fall-back"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("does not say how its default is started"));
  CHECK(cli.nocturne({"apply", "here", "--watch", "--", "true"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("of another command the steps are not seen"));
  CHECK(cli.nocturne({"apply", "here", "--watch"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("/opt/builds/k/worker"));
}

TEST_CASE("apply says that the script was edited, and names the command that measures it again", "[cli]") {
  const test::CliFixture cli;
  const auto script = cli.folder() / "train.sh";
  test::make_file(script, "echo trained\n");
  deploy::Profile profile = profile_here();
  profile.training.own_command = {{"template", {"sh", "train.sh"}}, {"folder", cli.folder().string()}};
  profile.training.sources[script] = std::string(64, '0');
  save(cli, profile);
  const auto result = run_program(cli, "apply here");
  CAPTURE(result.output);
  CHECK(result.code == 0);
  CHECK_THAT(result.output, ContainsSubstring("train.sh was edited since it was measured; '") &&
                                ContainsSubstring("verify here' measures it again") && ContainsSubstring("trained\n"));
}

TEST_CASE("what was seen of deployments is listed, the last lines", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"list", "deployments", "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("deployments").empty());
  deploy::Deployment seen{.time = "2026-01-02T03:04:05Z",
                          .host = "n1",
                          .profile = "mnist",
                          .trial = 7,
                          .finding = "as measured",
                          .step_s = 0.1,
                          .expected_s = 0.1,
                          .limit_s = 0.125,
                          .because = "a step takes 0.1 s"};
  REQUIRE(deploy::append_deployment(cli.data() / "deployments", seen));
  seen.time = "2026-01-03T03:04:05Z";
  seen.finding = "fell back";
  REQUIRE(deploy::append_deployment(cli.data() / "deployments", seen));
  CHECK(cli.nocturne({"list", "deployments", "--limit", "1", "--json"}) == ExitCode::Ok);
  REQUIRE(cli.json().at("deployments").size() == 1);
  CHECK(cli.json().at("deployments")[0].at("finding") == "fell back");
  CHECK(cli.nocturne({"list", "deployments"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("mnist") && ContainsSubstring("n1") && ContainsSubstring("as measured"));
}

TEST_CASE("apply refuses what is no profile", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  CHECK(cli.nocturne({"apply", "evening", "--", "true"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("campaign 'evening' has no profile: 'nocturne export evening' writes one"));
  CHECK(cli.nocturne({"apply", "nothing", "--", "true"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring("profile nothing: No such file or directory; 'nocturne export' writes"));
  CHECK(cli.nocturne({"apply", cli.folder().string(), "--", "true"}) == ExitCode::Refused);
  CHECK_THAT(cli.err(), ContainsSubstring(cli.folder().string() + ": Is a directory"));
}
