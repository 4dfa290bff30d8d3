// What another terminal is told of a campaign, and the program that is started at its end.

#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"
#include "tuner/cli/measuring/on_finish.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

/// What a tuner of the night wrote last.
tuner::Heartbeat measuring(const db::Store& store) {
  tuner::Heartbeat beat;
  beat.campaign = store.find_campaign("evening").value().name;
  beat.file = "evening.json";
  beat.process = db::this_process();
  beat.activity = "measuring";
  beat.doing = "measuring trial 5";
  beat.trial = 5;
  beat.configuration = {{"threads", 3}};
  beat.written_steady_ns = beat.since_steady_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  beat.written_unix_ns = beat.began_unix_ns = std::chrono::system_clock::now().time_since_epoch().count();
  beat.next_by_steady_ns = beat.written_steady_ns + 3'600'000'000'000;
  beat.last_trial = 4;
  beat.last_trial_unix_ns = beat.written_unix_ns;
  beat.expected_end_unix_ns = beat.written_unix_ns + 3'600'000'000'000;
  return beat;
}

void leave(const test::CliFixture& cli, const db::Store& store, const tuner::Heartbeat& beat) {
  REQUIRE(
      tuner::write_heartbeat(tuner::heartbeat_file(cli.database(), store.find_campaign("evening").value().id), beat));
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("status says whether there is no database, or whether that cannot be seen", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"status"}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("there is no database at"));
  // As a closed folder does, a name that is too long keeps anyone from seeing, root too.
  CHECK(cli.nocturne({"status", "--db", (cli.folder() / std::string(300, 'x')).string()}) == ExitCode::Database);
  CHECK_THAT(cli.err(), ContainsSubstring("cannot be seen"));
}

TEST_CASE("status of a running campaign says what it does and the answer so far", "[cli]") {
  test::CliFixture cli;
  const auto store = test::fill(cli, {.finished = false, .verdict = false, .artifact = {}, .machine = {}});
  CHECK(cli.nocturne({"status"}) == ExitCode::Ok);  // its tuner has not spoken yet
  CHECK_THAT(cli.out(), ContainsSubstring("evening, generation 1: running (process "));

  leave(cli, store, measuring(store));
  CHECK(cli.nocturne({"status", "evening"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("evening, generation 1: running (process "));
  CHECK_THAT(cli.out(), ContainsSubstring("Doing     measuring trial 5 for "));
  CHECK_THAT(cli.out(), ContainsSubstring(": threads=3\n"));
  CHECK_THAT(cli.out(), ContainsSubstring("Last      trial 4, "));
  CHECK_THAT(cli.out(), ContainsSubstring("End       expected "));
  CHECK_THAT(cli.out(), ContainsSubstring("Best      trial 1"));
  CHECK(cli.nocturne({"status", "--json"}) == ExitCode::Ok);
  const auto document = cli.json();
  CHECK(document["condition"] == "running");
  CHECK(document["activity"] == "measuring");
  CHECK(document["trial"] == 5);
  CHECK(document["configuration"]["threads"] == 3);
  CHECK(document["finished"] == 5);
  CHECK(document["failed"] == 1);
  CHECK(document["answer"]["best"]["trial"] == 1);
}

TEST_CASE("status tells a hanging tuner from one that was killed, with what to do", "[cli]") {
  test::CliFixture cli;
  auto store = test::fill(cli, {.finished = false, .artifact = {}, .machine = {}});
  auto beat = measuring(store);
  beat.next_by_steady_ns = 1;
  leave(cli, store, beat);
  CHECK(cli.nocturne({"status"}) == ExitCode::Negative);
  CHECK_THAT(cli.out(), ContainsSubstring("hanging while measuring trial 5"));

  beat.next_by_steady_ns.reset();
  --beat.process.start_ticks;  // another process since
  const auto campaign = store.find_campaign("evening").value().id;
  store.release_campaign(campaign);
  leave(cli, store, beat);
  CHECK(cli.nocturne({"status"}) == ExitCode::Negative);
  CHECK_THAT(cli.out(), ContainsSubstring("was killed at about ") && ContainsSubstring("while measuring trial 5") &&
                            ContainsSubstring("\nGo on     nocturne tune evening.json\n"));
  CHECK(cli.nocturne({"status", "--json"}) == ExitCode::Negative);
  CHECK(cli.json()["condition"] == "died");
  CHECK(cli.json()["pid"].is_null());

  beat.activity = "ended";
  beat.because = "interrupted";
  leave(cli, store, beat);
  CHECK(cli.nocturne({"status"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(),
             ContainsSubstring("before its work was complete") && ContainsSubstring("nocturne tune evening.json"));
  std::ofstream(tuner::heartbeat_file(cli.database(), campaign), std::ios::trunc) << "{\"campaign\": \"even";
  CHECK(cli.nocturne({"status"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("nobody tunes it"));
}

TEST_CASE("status of a finished campaign, and of none", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"status"}) == ExitCode::NotFound);
  CHECK(std::filesystem::is_empty(cli.data()));
  (void)test::fill(cli);
  CHECK(cli.nocturne({"status"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("evening, generation 1: finished ") && ContainsSubstring("1.67 times"));
  CHECK(cli.nocturne({"status", "morning"}) == ExitCode::NotFound);
}

TEST_CASE("a program at the end gets the result in its environment and arguments as they are", "[cli]") {
  const test::TemporaryFolder folder;
  const auto seen = folder.path() / "seen";
  cli::Finish finish;
  finish.campaign = "night";
  finish.ending = "interrupted";
  finish.gain_percent = 87.654;
  ::setenv("NOCTURNE_BEST_TRIAL", "from outside", 1);
  const auto variables = cli::finish_variables(finish, ExitCode::Interrupted);
  const auto ran = cli::run_program(
      "/bin/sh",
      {"-c",
       "echo \"$NOCTURNE_CAMPAIGN|$NOCTURNE_ENDING|$NOCTURNE_GAIN_PERCENT|${NOCTURNE_BEST_TRIAL-none}|$1\" > \"$0\"",
       seen.string(), "two $words; `here`"},
      variables, std::chrono::seconds(60));
  ::unsetenv("NOCTURNE_BEST_TRIAL");
  CHECK(ran);
  CHECK(text_of(seen) == "night|interrupted|87.65|none|two $words; `here`\n");
  CHECK(variables.at("NOCTURNE_EXIT_CODE") == "130");
}

TEST_CASE("a program at the end that fails or does not end is a sentence", "[cli]") {
  const auto failed = cli::run_program("/bin/sh", {"-c", "exit 3"}, {}, std::chrono::seconds(60));
  REQUIRE_FALSE(failed);
  CHECK(failed.error() == "/bin/sh ended with exit code 3");
  const auto killed = cli::run_program("/bin/sh", {"-c", "kill -9 $$"}, {}, std::chrono::seconds(60));
  REQUIRE_FALSE(killed);
  CHECK(killed.error() == "/bin/sh was ended by signal 9");
  CHECK_FALSE(cli::run_program("/nowhere/program", {}, {}, std::chrono::seconds(60)));
  const auto endless =
      cli::run_program("/bin/sh", {"-c", "exec cat /dev/zero > /dev/null"}, {}, std::chrono::milliseconds(1));
  REQUIRE_FALSE(endless);
  const std::string& words = endless.error();
  REQUIRE_THAT(words, ContainsSubstring(") still runs"));
  REQUIRE_THAT(words, ContainsSubstring("process "));
  const pid_t pid = std::stoi(words.substr(words.find("process ") + 8));
  REQUIRE(::kill(pid, SIGKILL) == 0);
  CHECK(::waitpid(pid, nullptr, 0) == pid);
}

TEST_CASE("a program at the end that does not exist is refused at the beginning", "[cli]") {
  test::CliFixture cli;
  CHECK(cli.nocturne({"tune", "nowhere.json", "--on-finish", "no-such-program-here"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--on-finish: there is no program 'no-such-program-here' in PATH"));
  CHECK(cli.nocturne({"tune", "nowhere.json", "--on-finish", "./nowhere"}) == ExitCode::Usage);
  CHECK(cli.nocturne({"tune", "nowhere.json", "--on-finish-arg", "x"}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--on-finish, and that is missing"));
}

TEST_CASE("status --watch draws how the best came down, and ends with a campaign that does not run", "[cli]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  REQUIRE(cli.nocturne({"status", "--watch"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Search    █▁▁▁ best so far: 5.00 s to 3.00 s in 4 trials"));
  CHECK(cli.nocturne({"status", "--watch", "--json"}) == ExitCode::Usage);
  REQUIRE(cli.nocturne({"status"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), !ContainsSubstring("Search    "));
}
