#include "measure/artifact/artifact.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "measure/artifact/compiler.hpp"
#include "measure/artifact/plan.hpp"
#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"
#include "tests/support/temporary_folder.hpp"

// Builds real programs with the compiler of this machine, small ones.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A folder of its own for each test, gone afterwards.
class Workshop {
 public:
  Workshop() {
    write("src/main.cpp", "#include \"greeting.hpp\"\nint second();\nint main() { return kAnswer + second(); }\n");
    write("src/second.cpp", "int second() { return 2; }\n");
    write("src/greeting.hpp", "#pragma once\nconstexpr int kAnswer = 40;\n");
  }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((*this / name).parent_path());
    std::ofstream(*this / name) << text;
  }
  [[nodiscard]] fs::path operator/(const fs::path& name) const { return folder_.path() / name; }
  [[nodiscard]] BuildRecipe recipe() const {
    return {.name = "tiny",
            .source_root = *this / "src",
            .sources = {"main.cpp", "second.cpp"},
            .include = {"."},
            .defines = {},
            .libraries = {},
            .flags = {},
            .uses = {}};
  }

 private:
  test::TemporaryFolder folder_;
};

const BuildOptions kOptions{.prefixes = {}, .jobs = 2, .deadline = std::chrono::seconds(60), .cpus = {}};
const BuildFlags kPlain{.optimisation = "O0"};

int exit_code_of(const fs::path& program) {
  const int status = std::system(program.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a program is built once and found again", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto first = store.obtain(workshop.recipe(), kPlain, kOptions);
  REQUIRE(first);
  CHECK(first->built_now);
  CHECK(exit_code_of(first->program) == 42);
  CHECK(entries_in(workshop / "builds/.making") == 0);
  CHECK(entries_in(first->program.parent_path()) == 3);  // program, build.log, manifest.json

  ArtifactStore other(workshop / "builds");  // as another campaign would see it
  for (ArtifactStore* again : {&store, &other}) {
    const auto second = again->obtain(workshop.recipe(), kPlain, kOptions);
    REQUIRE(second);
    CHECK_FALSE(second->built_now);
    CHECK(second->program == first->program);
    CHECK(second->build_time == first->build_time);
  }
}

TEST_CASE("where a compiler or a package is missing the program that came along serves, for its own flags alone",
          "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  workshop.write("tiny", "#!/bin/sh\nexit 7\n");
  fs::permissions(workshop / "tiny", fs::perms::owner_all);
  const auto obtained = [&](const BuildFlags& flags) {
    setenv("TINY_PROGRAM", (workshop / "tiny").c_str(), 1);
    auto artifact = store.obtain(workshop.recipe(), flags, kOptions);
    unsetenv("TINY_PROGRAM");
    return artifact;
  };

  SECTION("where neither is, it is built") {
    CHECK(exit_code_of(obtained({}).value().program) == 42);
  }
  SECTION("a package") {
    workshop.write("src/main.cpp", "#include <package/header.hpp>\nint main() {}\n");
    for (const BuildFlags& flags : {BuildFlags{}, BuildFlags{.march = "x86-64"}}) {
      const auto artifact = obtained(flags);
      REQUIRE(artifact);
      CHECK(exit_code_of(artifact->program) == 7);
      CHECK(artifact->key == space::sha256_of_file(workshop / "tiny").value());
      CHECK_FALSE(artifact->built_now);
    }
    CHECK_FALSE(obtained({.optimisation = "O2"}));
    CHECK_FALSE(obtained({.march = "native"}));
    CHECK_FALSE(store.obtain(workshop.recipe(), {}, kOptions));
  }
  SECTION("the compiler") {
    const std::string path = std::getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    const auto artifact = obtained({});
    const auto other = obtained({.lto = true});
    setenv("PATH", path.c_str(), 1);
    REQUIRE(artifact);
    CHECK(exit_code_of(artifact->program) == 7);
    CHECK_FALSE(other);
  }
  SECTION("but not one of our own headers") {
    workshop.write("src/part/there.hpp", "");
    workshop.write("src/main.cpp", "#include \"part/gone.hpp\"\nint main() {}\n");
    const auto artifact = obtained({});
    REQUIRE_FALSE(artifact);
    CHECK(artifact.error().reason.contains("gone.hpp"));
  }
}

TEST_CASE("whatever changes the program changes the key", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const std::string before = *store.key_of(workshop.recipe(), kPlain, kOptions);
  CHECK(*store.key_of(workshop.recipe(), kPlain, kOptions) == before);

  SECTION("a header") {
    workshop.write("src/greeting.hpp", "#pragma once\nconstexpr int kAnswer = 100;\n");
    CHECK(*store.key_of(workshop.recipe(), kPlain, kOptions) != before);
  }
  SECTION("a source") {
    workshop.write("src/second.cpp", "int second() { return 12; }\n");
    CHECK(*store.key_of(workshop.recipe(), kPlain, kOptions) != before);
  }
  SECTION("a flag") {
    CHECK(*store.key_of(workshop.recipe(), {.optimisation = "O1"}, kOptions) != before);
    CHECK(*store.key_of(workshop.recipe(), {.optimisation = "O0", .march = "x86-64-v3"}, kOptions) != before);
  }
  SECTION("a define of the recipe") {
    BuildRecipe recipe = workshop.recipe();
    recipe.defines = {"NDEBUG"};
    CHECK(*store.key_of(recipe, kPlain, kOptions) != before);
  }
  SECTION("a library's contents") {
    BuildRecipe recipe = workshop.recipe();
    recipe.uses = {"onednn"};
    BuildOptions options = kOptions;
    options.prefixes = {{"onednn", workshop / "prefix"}};
    workshop.write("prefix/lib/libdnnl.so", "one");
    const std::string one = *store.key_of(recipe, kPlain, options);
    workshop.write("prefix/lib/libdnnl.so", "another");
    CHECK(*store.key_of(recipe, kPlain, options) != one);
  }
  SECTION("the JSON library's headers") {
    BuildRecipe recipe = workshop.recipe();
    recipe.uses = {"nlohmann-json"};
    BuildOptions options = kOptions;
    options.prefixes = {{"nlohmann-json", workshop / "prefix"}};
    workshop.write("src/greeting.hpp", "#pragma once\n#include <nlohmann/json_fwd.hpp>\n");
    workshop.write("prefix/include/nlohmann/json_fwd.hpp", "constexpr int kAnswer = 40;\n");
    const std::string one = *store.key_of(recipe, kPlain, options);
    workshop.write("prefix/include/nlohmann/json_fwd.hpp", "constexpr int kAnswer = 41;\n");
    CHECK(*store.key_of(recipe, kPlain, options) != one);
  }
}

TEST_CASE("the JSON library is part of the key wherever it lies, the system's folder included", "[artifact]") {
  const Workshop workshop;
  workshop.write("src/greeting.hpp", "#pragma once\n#include <nlohmann/json_fwd.hpp>\nconstexpr int kAnswer = 40;\n");
  BuildRecipe recipe = workshop.recipe();
  recipe.uses = {"nlohmann-json"};
  BuildOptions options = kOptions;
  if (const fs::path include = NOCTURNE_JSON_INCLUDE; include != "/usr/include")
    options.prefixes = {{"nlohmann-json", include.parent_path()}};
  const auto deadline = Clock::now() + options.deadline;
  const auto plan = plan_build(recipe, kPlain, options, deadline, {});
  REQUIRE(plan);
  const auto key = compute_key(*plan, options, deadline, {});
  REQUIRE(key);
  CHECK(key->inputs["files"].contains("nlohmann/json_fwd.hpp"));
  CHECK_FALSE(key->inputs["files"].contains("/usr/include/string.h"));
}

TEST_CASE("what does not change the program does not change the key", "[artifact]") {
  const Workshop workshop, elsewhere;
  ArtifactStore store(workshop / "builds");
  const std::string before = *store.key_of(workshop.recipe(), kPlain, kOptions);
  workshop.write("src/unused.hpp", "int unused;\n");
  CHECK(*store.key_of(workshop.recipe(), kPlain, kOptions) == before);
  CHECK(*store.key_of(elsewhere.recipe(), kPlain, kOptions) == before);  // another checkout of the same sources
  BuildOptions more_jobs = kOptions;
  more_jobs.jobs = 1;
  CHECK(*store.key_of(workshop.recipe(), kPlain, more_jobs) == before);
}

TEST_CASE("native is spelled out by the compiler", "[artifact]") {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  for (const auto& path : find_compilers()) {
    const auto compiler = identify_compiler(path.string(), deadline);
    REQUIRE(compiler);
    CAPTURE(compiler->path);
    const auto native = spelled_out_target(*compiler, {"-march=native"}, deadline);
    const auto generic = spelled_out_target(*compiler, {"-march=x86-64"}, deadline);
    REQUIRE(native);
    REQUIRE(generic);
    CHECK_FALSE(native->contains("native"));
    CHECK(*native != *generic);
  }
}

TEST_CASE("a build that fails says the compiler's first error and leaves nothing", "[artifact]") {
  const Workshop workshop;
  workshop.write("src/second.cpp", "int second() { return undeclared_thing; }\n");
  ArtifactStore store(workshop / "builds");
  const auto result = store.obtain(workshop.recipe(), kPlain, kOptions);
  REQUIRE_FALSE(result);
  CHECK(result.error().reason.contains("second.cpp:1"));
  CHECK(result.error().reason.contains("undeclared_thing"));
  CHECK(result.error().log_tail.contains("undeclared_thing"));
  CHECK_FALSE(result.error().interrupted);
  CHECK(store.list().empty());
  CHECK(entries_in(workshop / "builds/.making") == 0);

  workshop.write("src/second.cpp", "int second() { return 3; }\n");  // not remembered
  CHECK(exit_code_of(store.obtain(workshop.recipe(), kPlain, kOptions)->program) == 43);
}

TEST_CASE("a missing header and a missing symbol are failures with their names", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  workshop.write("src/second.cpp", "#include \"nowhere.hpp\"\n");
  CHECK(store.obtain(workshop.recipe(), kPlain, kOptions).error().reason.contains("nowhere.hpp"));
  workshop.write("src/second.cpp", "int third();\n");
  CHECK(store.obtain(workshop.recipe(), kPlain, kOptions).error().reason.contains("second"));
}

TEST_CASE("a compiler that is not here is named with its package", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto result = store.obtain(workshop.recipe(), {.compiler = "clang++-4711"}, kOptions);
  CHECK(result.error().reason == "the compiler 'clang++-4711' is not on PATH: install the package clang-4711");
}

TEST_CASE("a damaged artifact is built again", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto first = store.obtain(workshop.recipe(), kPlain, kOptions);
  REQUIRE(first);
  SECTION("torn program") {
    fs::resize_file(first->program, 100);
  }
  SECTION("torn manifest") {
    fs::resize_file(first->program.parent_path() / "manifest.json", 10);
  }
  SECTION("a manifest that does not name the compiler") {
    const fs::path manifest = first->program.parent_path() / "manifest.json";
    nlohmann::json document = nlohmann::json::parse(std::ifstream(manifest));
    document.erase("compiler");
    std::ofstream(manifest) << document;
  }
  const auto second = store.obtain(workshop.recipe(), kPlain, kOptions);
  REQUIRE(second);
  CHECK(second->built_now);
  CHECK(exit_code_of(second->program) == 42);
}

TEST_CASE("two campaigns build once, the second waits for the first", "[artifact]") {
  const Workshop workshop;
  ArtifactStore one(workshop / "builds"), two(workshop / "builds");
  std::atomic<int> built = 0, fine = 0;
  {
    std::vector<std::jthread> campaigns;
    for (ArtifactStore* store : {&one, &two}) {
      campaigns.emplace_back([&, store] {
        const auto artifact = store->obtain(workshop.recipe(), kPlain, kOptions);
        built += artifact && artifact->built_now;
        fine += artifact && fs::exists(artifact->program);
      });
    }
  }
  CHECK(built == 1);
  CHECK(fine == 2);
}

TEST_CASE("incomplete builds of the dead are swept, those of the living are not", "[artifact]") {
  const Workshop workshop;
  const std::string dead(64, 'd'), living(64, 'a');
  {
    const ArtifactStore store(workshop / "builds");
  }
  workshop.write("builds/.making/" + dead + ".123/0.o", "half");
  workshop.write("builds/.making/" + living + ".124/0.o", "half");
  workshop.write("builds/.making/somebody-elses/file", "kept");
  const int lock = open((workshop / ("builds/.lock/" + living)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  {
    const ArtifactStore store(workshop / "builds");
  }
  CHECK_FALSE(fs::exists(workshop / ("builds/.making/" + dead + ".123")));
  CHECK(fs::exists(workshop / ("builds/.making/" + living + ".124")));
  CHECK(fs::exists(workshop / "builds/.making/somebody-elses"));
  close(lock);
}

TEST_CASE("artifacts are listed, least recently used first, and removed", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto a = store.obtain(workshop.recipe(), kPlain, kOptions);
  const auto b = store.obtain(workshop.recipe(), {.optimisation = "O1"}, kOptions);
  REQUIRE(a);
  REQUIRE(b);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(a->program.parent_path() / "manifest.json", old);
  fs::last_write_time(b->program.parent_path() / "manifest.json", old - std::chrono::hours(1));
  auto list = store.list();
  REQUIRE(list.size() == 2);
  CHECK(list[0].key == b->key);
  CHECK(list[1].key == a->key);
  CHECK(list[1].name == "tiny");
  CHECK(list[1].flags == "g++ -O0");
  CHECK(list[1].bytes > fs::file_size(a->program));

  REQUIRE(store.obtain(workshop.recipe(), {.optimisation = "O1"}, kOptions));  // using it makes it young
  CHECK(store.list()[1].key == b->key);

  CHECK(store.remove(a->key));
  CHECK_FALSE(store.remove(a->key));
  CHECK_FALSE(store.remove("../.."));
  CHECK(store.list().size() == 1);
  CHECK(store.obtain(workshop.recipe(), kPlain, kOptions)->built_now);
}

TEST_CASE("an artifact that is being built cannot be removed", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto artifact = store.obtain(workshop.recipe(), kPlain, kOptions);
  REQUIRE(artifact);
  const int lock = open((workshop / ("builds/.lock/" + artifact->key)).c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  CHECK_FALSE(store.remove(artifact->key));
  close(lock);
  CHECK(store.remove(artifact->key));
}

namespace {

/// A compiler that answers what it is and then hangs, with a grandchild: a shell script in front of the real one.
void write_hanging_compiler(const Workshop& workshop) {
  workshop.write("bin/hanging-g++", "#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = -c ]; then sleep 600 & echo $! > " +
                                        (workshop / "grandchild").string() + "; wait; fi; done\nexec g++ \"$@\"\n");
  fs::permissions(workshop / "bin/hanging-g++", fs::perms::owner_all);
}

bool is_alive(const fs::path& pid_file) {
  std::ifstream in(pid_file);
  pid_t pid = 0;
  if (!(in >> pid)) return false;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z" && state != "X";
}

/// Killed processes vanish when the kernel gets to it.
bool dies_soon(const fs::path& pid_file) {
  for (const auto deadline = Clock::now() + std::chrono::seconds(10); Clock::now() < deadline;) {
    if (!is_alive(pid_file)) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

TEST_CASE("a compiler that hangs is killed at the deadline, its children too", "[artifact]") {
  const Workshop workshop;
  write_hanging_compiler(workshop);
  ArtifactStore store(workshop / "builds");
  const BuildFlags flags{.compiler = (workshop / "bin/hanging-g++").string(), .optimisation = "O0"};
  BuildOptions options = kOptions;
  REQUIRE(store.key_of(workshop.recipe(), flags, options));  // known before the clock runs
  options.deadline = std::chrono::seconds(2);
  const auto result = store.obtain(workshop.recipe(), flags, options);
  REQUIRE_FALSE(result);
  CHECK(result.error().reason.ends_with("took longer than allowed"));
  CHECK_FALSE(result.error().interrupted);
  CHECK(dies_soon(workshop / "grandchild"));
  CHECK(entries_in(workshop / "builds/.making") == 0);
}

TEST_CASE("a build can be stopped", "[artifact]") {
  const Workshop workshop;
  write_hanging_compiler(workshop);
  ArtifactStore store(workshop / "builds");
  const BuildFlags flags{.compiler = (workshop / "bin/hanging-g++").string(), .optimisation = "O0"};
  std::stop_source source;
  std::jthread stopper([&] {
    while (!fs::exists(workshop / "grandchild")) std::this_thread::yield();
    source.request_stop();
  });
  const auto result = store.obtain(workshop.recipe(), flags, kOptions, source.get_token());
  REQUIRE_FALSE(result);
  CHECK(result.error().interrupted);
  CHECK(dies_soon(workshop / "grandchild"));
}

TEST_CASE("a killed tuner leaves nothing of a build behind, in whatever session it is", "[artifact]") {
  const Workshop workshop;
  const auto pids = [&](const char* name) { return (workshop / name).string(); };
  // One in the command's group, one that has left group, session and parents, as a daemon does.
  const std::string script = "sleep 600 & echo $! > " + pids("near") + "; setsid sh -c 'sleep 600 & echo $! > " +
                             pids("far") + "; wait' & echo $$ > " + pids("command") + "; wait";
  const pid_t tuner = fork();
  if (tuner == 0) {
    (void)run_command({.argv = {"/bin/sh", "-c", script}}, workshop / "log", Clock::now() + std::chrono::hours(1));
    _exit(0);
  }
  for (const char* name : {"near", "far", "command"})
    while (!is_alive(workshop / name)) std::this_thread::yield();
  kill(tuner, SIGKILL);
  waitpid(tuner, nullptr, 0);
  for (const char* name : {"near", "far", "command"}) {
    CAPTURE(name);
    CHECK(dies_soon(workshop / name));
  }
}

TEST_CASE("a command that is to be ended politely hears of it first", "[artifact]") {
  const Workshop workshop;
  const std::string ready = (workshop / "ready").string();
  std::stop_source source;
  std::jthread stopper([&] {
    while (!fs::exists(ready)) std::this_thread::yield();
    source.request_stop();
  });
  const std::string script = "trap 'echo heard; exit 4' TERM; : > " + ready + "; while :; do :; done";
  const auto result = run_command({.argv = {"/bin/sh", "-c", script}, .polite = std::chrono::seconds(10)},
                                  workshop / "said", Clock::now() + std::chrono::minutes(5), source.get_token());
  CHECK(result.end == CommandEnd::Stopped);
  CHECK(space::read_file(workshop / "said") == "heard\n");
}

TEST_CASE("one that is deaf to that is killed with all it started", "[artifact]") {
  const Workshop workshop;
  std::stop_source source;
  std::jthread stopper([&] {
    while (!is_alive(workshop / "child")) std::this_thread::yield();
    source.request_stop();
  });
  const std::string script = "trap '' TERM; sleep 600 & echo $! > " + (workshop / "child").string() + "; wait";
  (void)run_command({.argv = {"/bin/sh", "-c", script}, .polite = std::chrono::milliseconds(50)}, workshop / "said",
                    Clock::now() + std::chrono::minutes(5), source.get_token());
  CHECK(dies_soon(workshop / "child"));
}

TEST_CASE("what ends a command is not heard by whoever started it", "[artifact]") {
  // As the subcommands that measure do it: a handler writes into a pipe, which a process just forked shares.
  static std::array<int, 2> pipe{-1, -1};
  REQUIRE(pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  struct sigaction action{}, before{};
  action.sa_handler = [](int) { [[maybe_unused]] const ssize_t written = write(pipe[1], "!", 1); };
  sigaction(SIGTERM, &action, &before);
  const Workshop workshop;
  const auto begin = Clock::now();
  for (int i = 0; i < 50; ++i) {
    const Command command{.argv = {"/bin/sleep", "600"}, .polite = std::chrono::milliseconds(i % 2)};
    const auto ended = run_command(command, workshop / "log", Clock::now() + std::chrono::microseconds(40 * (i % 10)));
    CHECK(ended.end == CommandEnd::DeadlinePassed);
  }
  sigaction(SIGTERM, &before, nullptr);
  char heard = 0;
  CHECK(read(pipe[0], &heard, 1) < 0);
  CHECK(Clock::now() - begin < std::chrono::seconds(10));  // none had to be killed because it was deaf
  for (const int each : pipe) close(each);
}

TEST_CASE("a command reads what it is given, and its complaints go elsewhere", "[artifact]") {
  const Workshop workshop;
  std::ofstream(workshop / "given") << "order";
  const auto result = run_command({.argv = {"/bin/sh", "-c", "cat; echo complaint >&2; echo $LC_ALL$KEPT >&2"},
                                   .variables = {{"KEPT", "kept"}, {"LC_ALL", "C.UTF-8"}},
                                   .input = workshop / "given",
                                   .errors = workshop / "complaints",
                                   .whole_environment = true},
                                  workshop / "said", Clock::now() + std::chrono::minutes(5));
  CHECK(result.ok());
  CHECK(space::read_file(workshop / "said") == "order");
  CHECK(space::read_file(workshop / "complaints") == "complaint\nC.UTF-8kept\n");
  CHECK(run_command({.argv = {"/bin/cat"}, .input = workshop / "nowhere"}, workshop / "said", Clock::now()).end ==
        CommandEnd::NotStarted);
}

TEST_CASE("how a command ends is told, also through the one that keeps it", "[artifact]") {
  const Workshop workshop;
  const auto end_of = [&](const char* script) {
    return to_text(
        run_command({.argv = {"/bin/sh", "-c", script}}, workshop / "log", Clock::now() + std::chrono::minutes(5)));
  };
  CHECK(end_of("exit 0") == "exit code 0");
  CHECK(end_of("exit 3") == "exit code 3");
  CHECK(end_of("kill -TERM $$") == "killed by signal 15");
  CHECK(end_of("kill -KILL $PPID; exec sleep 600") == "killed by signal 9");
  // Not the end of one whose parent has left it.
  CHECK(end_of("(sh -c 'sleep 0.1; exit 7' &); sleep 0.4; exit 3") == "exit code 3");
  // What it leaves behind in its group ends with it.
  CHECK(end_of(("sleep 600 & echo $! > " + (workshop / "left").string()).c_str()) == "exit code 0");
  CHECK(dies_soon(workshop / "left"));
  // A service that it leaves on purpose stays.
  CHECK(end_of(("setsid sh -c 'echo $$ > " + (workshop / "service").string() + "; exec sleep 600' & while [ ! -s " +
                (workshop / "service").string() + " ]; do :; done")
                   .c_str()) == "exit code 0");
  CHECK(is_alive(workshop / "service"));
  pid_t service = 0;
  std::ifstream(workshop / "service") >> service;
  kill(service, SIGKILL);
}

TEST_CASE("a source that changes during the build spoils it: the program would not be what its key says",
          "[artifact]") {
  const Workshop workshop;
  workshop.write("bin/meddling-g++", "#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = -c ]; then echo 'int more;' >> " +
                                         (workshop / "src/second.cpp").string() + "; fi; done\nexec g++ \"$@\"\n");
  fs::permissions(workshop / "bin/meddling-g++", fs::perms::owner_all);
  ArtifactStore store(workshop / "builds");
  BuildOptions options = kOptions;
  options.jobs = 1;
  BuildRecipe recipe = workshop.recipe();
  recipe.sources = {"second.cpp", "main.cpp"};
  const auto result =
      store.obtain(recipe, {.compiler = (workshop / "bin/meddling-g++").string(), .optimisation = "O0"}, options);
  REQUIRE_FALSE(result);
  CHECK(result.error().reason.contains("changed while"));
  CHECK(store.list().empty());
}

TEST_CASE("link-time optimisation and fast-math build and run", "[artifact]") {
  const Workshop workshop;
  ArtifactStore store(workshop / "builds");
  const auto artifact =
      store.obtain(workshop.recipe(), {.optimisation = "O2", .lto = true, .fast_math = true}, kOptions);
  REQUIRE(artifact);
  CHECK(exit_code_of(artifact->program) == 42);
}

TEST_CASE("makefile rules are taken apart", "[artifact]") {
  CHECK(parse_dependencies("x: a.cpp b/c.hpp \\\n  with\\ space.hpp \\\n d$$e.hpp\n") ==
        std::vector<std::string>{"a.cpp", "b/c.hpp", "with space.hpp", "d$e.hpp"});
  CHECK(parse_dependencies("nonsense").empty());
}

TEST_CASE("the first error of a log is found", "[artifact]") {
  CHECK(first_error("+ g++ -Werror: x\na.cpp:1: note: hm\na.cpp:2:3: error: no\nb: error: later\n") ==
        "a.cpp:2:3: error: no");
  CHECK(first_error("main.o: undefined reference to `f()'\n") == "main.o: undefined reference to `f()'");
  CHECK(first_error("something else\n\n") == "something else");
  CHECK(first_error("") == "the compiler failed without a word");
}

}  // namespace nocturne::measure
