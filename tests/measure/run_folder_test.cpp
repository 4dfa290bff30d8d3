#include "measure/supervisor/run_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "measure/comparison/pair.hpp"
#include "measure/run/runner.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using space::Outcome;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A run whose worker has put something else in the place of a file; `target` is what a link leads to.
space::Run run_planting(const fs::path& folder, const char* mode, const char* file, const char* as,
                        const fs::path& target = {}) {
  RunPlan plan = test::fake_plan(folder, mode, {{"plant", file}, {"plant_as", as}, {"target", target.string()}});
  plan.folder = folder / plan.id;
  return measure::run(plan);
}

}  // namespace

TEST_CASE("of a run's folder only ordinary files with one name are read, and nothing is followed", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path& path = folder.path();
  const RunFolder held = RunFolder::open(path).value();
  CHECK(held.absent("a"));
  std::ofstream(path / "a") << "text";
  CHECK_FALSE(held.absent("a"));
  CHECK(held.text("a", 4) == "text");
  CHECK(held.text("a", 3).error() == "a is longer than 3 bytes");
  fs::create_symlink("a", path / "link");
  fs::create_symlink("nowhere", path / "dangling");
  REQUIRE(::mkfifo((path / "fifo").c_str(), 0600) == 0);
  fs::create_directory(path / "folder");
  CHECK(held.read("link").error() == "link is a link");
  CHECK_FALSE(held.absent("dangling"));
  CHECK(held.read("dangling").error() == "dangling is a link");
  CHECK(held.read("fifo").error() == "fifo is a FIFO");
  CHECK(held.read("folder").error() == "folder is no ordinary file");
  CHECK(held.read("nothing").error() == "cannot open nothing: No such file or directory");
  CHECK(held.open_fifo("fifo"));
  CHECK(held.open_fifo("a").error() == "a is no FIFO");
  fs::create_hard_link(path / "a", path / "second");
  CHECK(held.read("a").error() == "a is a link to a file that has other names");
  held.cut("second", 1);
  CHECK(contents(path / "a") == "text");
}

TEST_CASE("what is written into a run's folder is a new file, whatever had its name", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path run = folder.path() / "run", precious = folder.path() / "precious";
  std::ofstream(precious) << "precious";
  const RunFolder held = RunFolder::make(run).value();
  fs::create_symlink(precious, run / "linked");
  fs::create_hard_link(precious, run / "named");
  fs::create_symlink(precious, run / "replaced");
  fs::create_symlink(precious, run / "replaced.new");
  for (const char* name : {"linked", "named"}) CHECK(held.write(name, "mine"));
  CHECK(held.replace("replaced", "mine"));
  for (const char* name : {"linked", "named", "replaced"}) {
    CHECK(fs::is_regular_file(fs::symlink_status(run / name)));
    CHECK(contents(run / name) == "mine");
  }
  CHECK_FALSE(fs::exists(run / "replaced.new"));
  CHECK(contents(precious) == "precious");
  fs::create_directory(run / "taken");
  CHECK_FALSE(held.write("taken", "mine"));
  // The folder is the one it was, wherever its name leads now.
  fs::rename(run, folder.path() / "moved");
  fs::create_directory_symlink(folder.path(), run);
  CHECK(held.write("late", "mine"));
  CHECK(contents(folder.path() / "moved/late") == "mine");
  CHECK_THAT(RunFolder::open(run).error(), ContainsSubstring("cannot open the run's folder"));
}

TEST_CASE("a run's folder is new or was empty, and is for its owner alone", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path& path = folder.path();
  fs::create_directory(path / "empty");
  fs::permissions(path / "empty", fs::perms::all);
  for (const char* name : {"new/run", "empty"}) {
    CAPTURE(name);
    CHECK(RunFolder::make(path / name));
    CHECK(fs::status(path / name).permissions() == fs::perms::owner_all);
  }
  fs::create_directory_symlink("empty", path / "link");
  fs::create_directory(path / "used");
  std::ofstream(path / "used/request.json") << "of another run";
  for (const char* name : {"used", "link"}) {
    CAPTURE(name);
    CHECK_THAT(RunFolder::make(path / name).error(), EndsWith("is not empty"));
  }
}

TEST_CASE("a worker that puts a FIFO or a link in the place of its log holds nobody up", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path secret = folder.path() / "secret";
  std::ofstream(secret) << "a secret\n";
  for (const char* as : {"fifo", "link", "second_name", "folder"}) {
    CAPTURE(as);
    const space::Run run = run_planting(folder.path(), "exit", "log.txt", as, secret);
    CHECK(run.outcome == Outcome::Failed);
    CHECK(run.exit_code == 3);
    CHECK(run.log_tail.empty());
  }
  CHECK(contents(secret) == "a secret\n");
}

TEST_CASE("a worker that puts a link in the place of its result overwrites nothing", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path precious = folder.path() / "precious";
  std::ofstream(precious) << "precious";
  for (const char* file : {"result.json.new", "result.json"}) {
    for (const char* as : {"fifo", "link", "second_name"}) {
      CAPTURE(file, as);
      const space::Run run = run_planting(folder.path(), "obey", file, as, precious);
      CHECK(run.outcome == Outcome::Ok);
      const fs::path result = fs::path(run.folder) / "result.json";
      REQUIRE(fs::is_regular_file(fs::symlink_status(result)));
      CHECK(nlohmann::json::parse(contents(result))["exit_code"] == 0);
    }
  }
  CHECK(contents(precious) == "precious");
}

TEST_CASE("events that are no ordinary file are a protocol error, and end the run", "[run_folder]") {
  const test::TemporaryFolder folder;
  const fs::path other = folder.path() / "other";
  std::ofstream(other) << R"({"event":"hello","protocol":1,"worker":"w"})" << '\n';
  // It hangs, so that only the tuner's ending it ends it.
  space::Run run = run_planting(folder.path(), "hang_silent", "events.jsonl", "fifo");
  CHECK(run.outcome == Outcome::ProtocolError);
  CHECK(run.reason == "events, line 1: events.jsonl is a FIFO");
  run = run_planting(folder.path(), "hang_silent", "events.jsonl", "link", other);
  CHECK(run.reason == "events, line 1: events.jsonl is a link");
  run = run_planting(folder.path(), "hang_silent", "events.jsonl", "second_name", other);
  CHECK_THAT(run.reason, EndsWith("events.jsonl is a link to a file that has other names"));
  CHECK(contents(other).size() == 44);
}
