/// The private view, with real scripts, overlays and copies: what it shows, what it keeps from the user's files, and
/// what it tells of them.

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "kernels/command/command_run.hpp"
#include "kernels/command/mount_table.hpp"
#include "kernels/command/options.hpp"
#include "kernels/command/private_view.hpp"
#include "kernels/command/written_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nlohmann::json;

constexpr uid_t kNobody = 65534;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// Everything below a folder with its mode, its time of change and what it holds.
std::map<std::string, std::string> everything_in(const fs::path& folder) {
  std::map<std::string, std::string> all;
  const auto add = [&](const fs::path& path) {
    struct stat state{};
    REQUIRE(::lstat(path.c_str(), &state) == 0);
    std::string value = std::to_string(state.st_mode) + " " + std::to_string(state.st_mtim.tv_sec) + "." +
                        std::to_string(state.st_mtim.tv_nsec) + " ";
    if (S_ISREG(state.st_mode)) value += text_of(path);
    if (S_ISLNK(state.st_mode)) value += fs::read_symlink(path).string();
    all[path.string()] = value;
  };
  add(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) add(entry.path());
  return all;
}

/// The exit code of a process that does it, or 128 and its signal.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (const std::exception&) {
      ::_exit(99);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void become_nobody() {
  if (::geteuid() != 0) return;
  // As a program that is started anew has it; changing the user takes it, and with it /proc/self.
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0) {
    ::_exit(98);
  }
  ::prctl(PR_SET_DUMPABLE, 1);
}

/// A user's project, and runs of a shell's script in it.
class Project {
  test::TemporaryFolder base_;

 public:
  explicit Project(const std::string& name = "project") : folder(base_.path() / name) {
    ::chmod(base_.path().c_str(), 0755);
    fs::create_directories(folder);
    fs::create_directories(runs_);
    options.view.kind = ViewKind::Overlay;
  }

  /// What the process does before it runs the worker.
  std::function<void()> before = [] {};
  fs::path folder;
  Options options;

  /// Where the next run's files will lie.
  [[nodiscard]] fs::path run_folder() const {
    return runs_ / (std::to_string(::getpid()) + "-" + std::to_string(runs_begun_));
  }
  [[nodiscard]] fs::path base() const { return base_.path(); }
  void put_runs_into(const fs::path& place) { runs_ = place; }

  void give_to_nobody() {
    before = become_nobody;
    if (::geteuid() != 0) return;
    REQUIRE(::chown(base_.path().c_str(), kNobody, kNobody) == 0);
    for (const auto& entry : fs::recursive_directory_iterator(base_.path()))
      REQUIRE(::lchown(entry.path().c_str(), kNobody, kNobody) == 0);
  }

  /// The worker's exit code. Then `last` is the run's folder.
  int run(const std::string& script) {
    last = run_folder();
    ++runs_begun_;
    options.folder = folder.string();
    options.command = {"sh", "-c", script};
    options.events = (last / "events.jsonl").string();
    return in_child([&] {
      before();
      fs::create_directories(last);
      protocol::EventWriter events(options.events);
      return converse(options, {}, events);
    });
  }

  [[nodiscard]] json view() const { return json::parse(text_of(last / "view.json")); }
  /// What a script left in its folder for temporary files.
  [[nodiscard]] std::string said(const std::string& name) const { return text_of(last / "tmp" / name); }
  [[nodiscard]] std::string reason() const {
    std::ifstream stream(last / "events.jsonl");
    std::string reason;
    for (std::string line; std::getline(stream, line);) reason = json::parse(line).value("reason", "");
    return reason;
  }

  fs::path last;

 private:
  fs::path runs_ = base_.path() / "runs";
  int runs_begun_ = 0;
};

std::vector<std::string> paths_in(const json& list) {
  std::vector<std::string> paths;
  for (const json& entry : list)
    paths.push_back(entry.at("path").get<std::string>() + (entry.value("deleted", false) ? " gone" : ""));
  return paths;
}

using Paths = std::vector<std::string>;

void need_overlay() {
  Project project;
  REQUIRE(project.run("true") == 0);
  if (project.reason().starts_with("there is no private view")) SKIP(project.reason());
}

}  // namespace

TEST_CASE("a script that resumes from its checkpoint begins anew in each run, and its folder stays as it was",
          "[view]") {
  const auto kind = GENERATE(ViewKind::Overlay, ViewKind::Copy);
  if (kind == ViewKind::Overlay) need_overlay();
  Project project;
  project.options.view.kind = kind;
  write_text(project.folder / "data" / "set.txt", "data");
  ::chmod((project.folder / "data").c_str(), 0711);
  const auto before = everything_in(project.folder);
  for (int again = 0; again < 3; ++again) {
    REQUIRE(project.run("if test -e model.pt; then echo resumed; else echo begun; fi > $TMPDIR/how\n"
                        "cat data/set.txt > model.pt; echo more >> data/set.txt; chmod 600 data/set.txt") == 0);
    CHECK(project.said("how") == "begun\n");
    json view = project.view();
    CHECK(view["written"][1].erase("made_unix_ns") == 1);
    CHECK(view["version"] == 1);
    CHECK(view["kind"] == (kind == ViewKind::Copy ? "copy" : "overlay"));
    CHECK(view["folder"] == project.folder.string());
    CHECK(view["written"] == json::parse(R"([{"path":"data/set.txt","bytes":9},{"path":"model.pt","bytes":4}])"));
    CHECK(view["outside"].empty());
    CHECK(view["more"] == 0);
  }
  CHECK(everything_in(project.folder) == before);
}

TEST_CASE("files are deleted, renamed, appended to and linked in the view alone", "[view]") {
  const auto kind = GENERATE(ViewKind::Overlay, ViewKind::Copy);
  if (kind == ViewKind::Overlay) need_overlay();
  Project project;
  project.options.view.kind = kind;
  for (const char* name : {"gone", "old", "log", "kept", "folder/a", "folder/b"})
    write_text(project.folder / name, name);
  fs::create_symlink("log", project.folder / "link");
  fs::create_symlink("/nowhere", project.folder / "dangling");
  const auto before = everything_in(project.folder);
  REQUIRE(
      project.run(
          "set -e; rm gone; mv old new; echo x >> link; ln -s kept other; rm -r folder; mkdir folder\n"
          "echo c > folder/c; test -h dangling; test -h link; test ! -e folder/a; rm link; cat kept log > /dev/null") ==
      0);
  CHECK(paths_in(project.view()["written"]) ==
        (kind == ViewKind::Copy
             ? Paths{"folder/a gone", "folder/b gone", "folder/c", "gone gone", "link gone", "log", "new", "old gone",
                     "other"}
             : Paths{"folder gone", "folder/c", "gone gone", "link gone", "log", "new", "old gone", "other"}));
  CHECK(everything_in(project.folder) == before);
}

TEST_CASE("a folder may have any name", "[view]") {
  const auto kind = GENERATE(ViewKind::Overlay, ViewKind::Copy);
  if (kind == ViewKind::Overlay) need_overlay();
  Project project("a,b:c d\\e\\\\=\"ü'\n");
  project.options.view.kind = kind;
  project.options.view.covers_outside = GENERATE(false, true);
  write_text(project.folder / "in", "in");
  REQUIRE(project.run("cat in > 'o,:\\ut'") == 0);
  CHECK(paths_in(project.view()["written"]) == Paths{"o,:\\ut"});
  CHECK(project.view()["written"][0]["bytes"] == 2);
  CHECK(!fs::exists(project.folder / "o,:\\ut"));
}

TEST_CASE("what is written beside the folder is named, and does not happen", "[view]") {
  need_overlay();
  Project project;
  project.options.view.covers_outside = true;
  write_text(project.base() / "beside" / "old", "old");
  write_text(project.base() / "changed", "x");
  const auto before = everything_in(project.base() / "beside");
  const std::string script =
      "set -e; echo new > ../beside/new; rm ../beside/old; echo y >> ../changed; echo in > in\n"
      "echo z > /dev/null; echo t > $TMPDIR/t; test -d /proc/self; cd \"$PWD\"; pwd > $TMPDIR/pwd";
  REQUIRE(project.run(script) == 0);
  CHECK(project.said("pwd") == project.folder.string() + "\n");
  const json view = project.view();
  CAPTURE(view.dump(2));
  CHECK(paths_in(view["written"]) == Paths{"in"});
  const std::string base = project.base().string();
  CHECK(paths_in(view["outside"]) == Paths{base + "/beside/new", base + "/beside/old gone", base + "/changed"});
  CHECK(view["outside"][2]["bytes"] == 3);
  CHECK(view["outside"][2]["kind"] == "file");
  CHECK(everything_in(project.base() / "beside") == before);
  CHECK(text_of(project.base() / "changed") == "x");

  project.options.view.covers_outside = false;  // then it does happen
  REQUIRE(project.run(script) == 0);
  CHECK(fs::exists(project.base() / "beside" / "new"));
  CHECK(!fs::exists(project.folder / "in"));
}

TEST_CASE("what programs download once is real where everything beside the folder is kept apart", "[view]") {
  need_overlay();
  Project project;
  project.options.view.covers_outside = true;
  fs::create_directories(project.base() / "scratch" / "cache");
  fs::create_directories(project.base() / "home" / ".keras");
  fs::create_symlink(project.base() / "scratch" / "cache", project.base() / "home" / ".cache");  // as on clusters
  project.before = [&] { ::setenv("HOME", (project.base() / "home").c_str(), 1); };
  REQUIRE(project.run(
              "set -e; for each in .cache .keras nltk_data other; do mkdir -p ~/$each; echo x > ~/$each/x; done") == 0);
  CHECK(text_of(project.base() / "scratch" / "cache" / "x") == "x\n");
  CHECK(text_of(project.base() / "home" / ".keras" / "x") == "x\n");
  CHECK(!fs::exists(project.base() / "home" / "other"));
  CHECK(!fs::exists(project.base() / "home" / "nltk_data"));  // it was not there before: no folder is made for it
  const json outside = project.view()["outside"];
  CHECK(paths_in(outside) == Paths{(project.base() / "home" / "nltk_data" / "x").string(),
                                   (project.base() / "home" / "other" / "x").string()});
  CHECK(outside[1]["kind"] == "file");
}

TEST_CASE("what the user's runs have compiled is found, and what a run compiles is its own", "[view]") {
  need_overlay();
  Project project;
  project.options.view.covers_outside = GENERATE(false, true);
  const fs::path home = project.base() / "home", extensions = home / ".cache" / "torch_extensions";
  write_text(extensions / "old.so", "built");
  const bool moved = GENERATE(false, true);
  project.before = [&] {
    ::setenv("HOME", home.c_str(), 1);
    if (moved) ::setenv("XDG_CACHE_HOME", (home / ".cache").c_str(), 1);
  };
  REQUIRE(
      project.run(
          "set -e; cat ~/.cache/torch_extensions/old.so > $TMPDIR/found; echo x > ~/.cache/torch_extensions/new.so\n"
          "echo ${TORCH_EXTENSIONS_DIR-default} > $TMPDIR/where; mkdir -p $TRITON_CACHE_DIR; echo k > "
          "$TRITON_CACHE_DIR/k") == 0);
  CHECK(project.said("found") == "built");
  CHECK(project.said("where") == "default\n");
  CHECK(!fs::exists(extensions / "new.so"));
  const json outside = project.view()["outside"];
  CHECK(paths_in(outside) == Paths{(extensions / "new.so").string(), (home / ".triton" / "cache" / "k").string()});
  for (const json& each : outside) CHECK(each["kind"] == "cache");
}

TEST_CASE("a cache that holds the command's folder is as private as anything else", "[view]") {
  need_overlay();
  Project project("cache/project");
  project.options.view.covers_outside = true;
  project.before = [&] { ::setenv("XDG_CACHE_HOME", (project.base() / "cache").c_str(), 1); };
  REQUIRE(project.run("echo x > x; echo y > ../y") == 0);
  CHECK(paths_in(project.view()["written"]) == Paths{"x"});
  CHECK(!fs::exists(project.folder / "x"));
  CHECK(!fs::exists(project.base() / "cache" / "y"));
}

TEST_CASE("it is told when a new file was made, and not of one that was there", "[view]") {
  const auto kind = GENERATE(ViewKind::Overlay, ViewKind::Copy);
  if (kind == ViewKind::Overlay) need_overlay();
  Project project;
  project.options.view.kind = kind;
  write_text(project.folder / "old", "old");
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  };
  const auto before = now() - std::chrono::milliseconds(20);  // files' times go by the kernel's ticks
  REQUIRE(project.run("set -e; echo x >> old; echo x > unpacked; touch -d 2009-01-01 unpacked") == 0);
  const json written = project.view()["written"];
  REQUIRE(paths_in(written) == Paths{"old", "unpacked"});
  CHECK(!written[0].contains("made_unix_ns"));
  CHECK(written[1]["made_unix_ns"].get<std::int64_t>() >= before.count());
  CHECK(written[1]["made_unix_ns"].get<std::int64_t>() <= now().count());
}

TEST_CASE("a server that listens beside the folder is reached", "[view]") {
  need_overlay();
  Project project;
  project.options.view.covers_outside = GENERATE(false, true);
  const fs::path name = project.base() / "server socket";
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  REQUIRE(name.native().size() < sizeof address.sun_path);
  name.native().copy(address.sun_path, name.native().size());
  REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server, 4) == 0);
  const std::string script = "import socket; socket.socket(socket.AF_UNIX).connect('" + name.string() + "')";
  CHECK(project.run("python3 -c \"" + script + "\" 2> $TMPDIR/error") == 0);
  CAPTURE(project.said("error"));
  ::close(server);
}

TEST_CASE("shared folders are written for real, wherever they and the runs lie", "[view]") {
  const auto kind = GENERATE(ViewKind::Overlay, ViewKind::Copy);
  const bool watched = GENERATE(false, true);
  if (kind == ViewKind::Overlay) need_overlay();
  Project project;
  project.options.view.kind = kind;
  project.options.view.covers_outside = watched;
  project.put_runs_into(project.folder / ".runs");
  for (const char* name : {"project/out", "beside"}) {
    fs::create_directories(project.base() / name);
    project.options.view.shares.push_back(project.base() / name);
  }
  REQUIRE(project.run("set -e; echo a > out/a; echo b > ../beside/b; echo c > c") == 0);
  CHECK(text_of(project.folder / "out" / "a") == "a\n");
  CHECK(text_of(project.base() / "beside" / "b") == "b\n");
  CHECK(!fs::exists(project.folder / "c"));
  CHECK(paths_in(project.view()["written"]) == Paths{"c"});
  CHECK(project.view()["outside"].empty());
}

TEST_CASE("a path out of the folder leads where it did from a copy as well", "[view]") {
  Project project("deep/project");
  project.options.view.kind = ViewKind::Copy;
  write_text(project.base() / "deep" / "beside" / "in", "in");
  write_text(project.base() / "above", "above");
  REQUIRE(project.run("set -e; cat ../beside/in ../../above > $TMPDIR/read; echo x > ../../new") == 0);
  CHECK(project.said("read") == "inabove");
  CHECK(!fs::exists(project.base() / "new"));
  CHECK(paths_in(project.view()["outside"]) == Paths{(project.base() / "new").string()});
}

TEST_CASE("files of another owner's that an overlay cannot change make it a copy", "[view]") {
  if (::geteuid() != 0) SKIP("giving files away takes root");
  need_overlay();
  Project project;
  write_text(project.folder / "theirs" / "file", "theirs");
  project.give_to_nobody();
  ::chmod((project.folder / "theirs").c_str(), 0777);
  REQUIRE(::chown((project.folder / "theirs").c_str(), 1, 1) == 0);
  project.options.view.kind = ViewKind::Overlay;
  CHECK(project.run("(echo x > theirs/x) 2>&-") != 0);
  project.options.view.kind = ViewKind::Auto;
  CHECK(project.run("echo x > theirs/x") == 0);
  CHECK(project.view()["kind"] == "copy");
  CHECK_THAT(project.view()["notes"].dump(), ContainsSubstring("theirs' belongs to another user"));
  project.options.view.limit_bytes = 5;
  CHECK(project.run("true") == 0);
  CHECK(project.view()["kind"] == "overlay");
  CHECK_THAT(project.view()["notes"].dump(), ContainsSubstring("more than 5 bytes"));
  CHECK(!fs::exists(project.folder / "theirs" / "x"));
}

TEST_CASE("a share that holds the folder, or is none, is refused", "[view]") {
  Project project;
  project.options.view.shares = {project.base()};
  project.run("echo x > x");
  CHECK_THAT(project.reason(), ContainsSubstring("--in-place"));
  project.options.view.shares = {project.folder / "nothing"};
  project.run("echo x > x");
  CHECK_THAT(project.reason(), ContainsSubstring("nothing"));
  CHECK(fs::is_empty(project.folder));
}

TEST_CASE("without root it is the same, and what is left can be removed", "[view]") {
  Project project;
  write_text(project.folder / "old", "old");
  project.give_to_nobody();
  project.options.view.covers_outside = GENERATE(false, true);
  const auto before = everything_in(project.folder);
  const int code = project.run(
      "set -e; id -u > $TMPDIR/user; rm old; echo x > x; mkdir -m 0 shut; mkdir $TMPDIR/shut\n"
      "echo y > ../y; echo z > $TMPDIR/shut/z; chmod 0 $TMPDIR/shut; if (echo > /usr/x) 2>&-; then exit 3; fi");
  if (project.reason().starts_with("there is no private view")) SKIP(project.reason());
  REQUIRE(code == 0);
  CHECK(project.said("user") == std::to_string(::geteuid() == 0 ? kNobody : ::geteuid()) + "\n");
  CHECK(paths_in(project.view()["written"]) == Paths{"old gone", "x"});
  CHECK(fs::exists(project.base() / "y") != project.options.view.covers_outside);
  CHECK(paths_in(project.view()["outside"]) ==
        (project.options.view.covers_outside ? Paths{(project.base() / "y").string()} : Paths{}));
  CHECK(everything_in(project.folder) == before);
  CHECK(in_child([&] {
          become_nobody();
          fs::remove_all(project.last);
          return 0;
        }) == 0);
  CHECK(!fs::exists(project.last));
}

TEST_CASE("where namespaces are refused it is a copy, or an error, and never the folder itself", "[view]") {
  Project project;
  write_text(project.folder / "big", std::string(5000, 'x'));
  const uid_t user = ::geteuid();
  project.before = [user] {  // a user namespace that allows no other
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(77);
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    for (const char* limit : {"user", "mnt"})
      std::ofstream(std::string("/proc/sys/user/max_") + limit + "_namespaces") << 0;
  };
  project.options.view.kind = ViewKind::Auto;
  const int code = project.run("echo x > x");
  if (code == 77) SKIP("this system allows no namespaces");
  REQUIRE(code == 0);
  CHECK(project.view()["kind"] == "copy");
  CHECK_THAT(project.view()["notes"].dump(), ContainsSubstring("namespace of its own is refused"));
  CHECK_THAT(project.view()["notes"].dump(), ContainsSubstring("absolute paths"));

  project.options.view.limit_bytes = 4999;
  CHECK(project.run("echo x > x") == 0);
  CHECK_THAT(project.reason(), ContainsSubstring("--in-place"));

  project.options.view.kind = ViewKind::Overlay;
  CHECK(project.run("echo x > x") == 0);
  CHECK_THAT(project.reason(), ContainsSubstring("no private view") && ContainsSubstring("refused"));
  CHECK(!fs::exists(project.folder / "x"));
}

TEST_CASE("a file system that is mounted below the folder is shown and kept as well", "[view]") {
  need_overlay();
  Project project;
  write_text(project.folder / "top", "top");
  write_text(project.folder / "data" / "hidden", "hidden");
  const bool as_nobody = GENERATE(false, true);
  if (as_nobody) project.give_to_nobody();
  if (::geteuid() != 0) SKIP("mounting takes root");
  const fs::path data = project.folder / "data";
  const auto after = project.before;
  project.before = [&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(97);
    if (::mount("none", data.c_str(), "tmpfs", 0, "mode=777") != 0) ::_exit(97);
    std::ofstream(data / "seen") << "seen";
    ::chmod((data / "seen").c_str(), 0666);
    after();
  };
  project.options.view.covers_outside = GENERATE(false, true);
  REQUIRE(project.run("set -e; cat data/seen > $TMPDIR/seen; echo x > data/x; echo y > y; echo z >> top") == 0);
  CHECK(project.said("seen") == "seen");
  CHECK(paths_in(project.view()["written"]) == Paths{"data/x", "top", "y"});
  CHECK(text_of(project.folder / "top") == "top");
  CHECK(!fs::exists(project.folder / "y"));
}

TEST_CASE("a thousand files are named, the others counted", "[view]") {
  Project project;
  project.options.view.kind = ViewKind::Copy;
  REQUIRE(project.run("seq 1003 | xargs touch") == 0);
  CHECK(project.view()["written"].size() == 1000);
  CHECK(project.view()["more"] == 3);
}

TEST_CASE("a copy keeps links, modes and times, and leaves out what is no file", "[view]") {
  Project project;
  project.options.view.kind = ViewKind::Copy;
  write_text(project.folder / "in" / "file", "text");
  fs::create_symlink("in/file", project.folder / "link");
  ::chmod((project.folder / "in" / "file").c_str(), 0741);
  REQUIRE(::mkfifo((project.folder / "pipe").c_str(), 0600) == 0);
  REQUIRE(project.run("ls -R > $TMPDIR/all; stat -c %a.%Y in/file > $TMPDIR/state; readlink link >> $TMPDIR/state") ==
          0);
  struct stat state{};
  REQUIRE(::stat((project.folder / "in" / "file").c_str(), &state) == 0);
  CHECK(project.said("state") == "741." + std::to_string(state.st_mtime) + "\nin/file\n");
  CHECK_THAT(project.said("all"), !ContainsSubstring("pipe"));
  CHECK_THAT(project.view()["notes"].dump(),
             ContainsSubstring("not in the copy: " + project.folder.string() + "/pipe"));
}

TEST_CASE("a command that cannot be started in a view says so", "[view]") {
  need_overlay();
  Project project;
  project.options.folder = project.folder.string();
  project.options.command = {"./no-such-program"};
  project.options.events = (project.base() / "events.jsonl").string();
  CHECK(in_child([&] {  // the command's variables are set in the worker
          protocol::EventWriter events(project.options.events);
          return converse(project.options, {}, events);
        }) == 0);
  CHECK_THAT(text_of(project.options.events), ContainsSubstring("cannot start './no-such-program': No such file"));
  CHECK(!fs::exists(project.base() / "view.json"));
}

TEST_CASE("trackers are offline, and caches and temporary files the run's own, under a view alone", "[view]") {
  CHECK(view_environment({}).empty());
  const auto variables =
      view_environment({.kind = ViewKind::Overlay, .folder = "/f", .run = "/r u/n", .temporary = "/r u/n/tmp"});
  CHECK(variables.at("WANDB_MODE") == "offline");
  CHECK(variables.at("MPLBACKEND") == "Agg");
  CHECK(variables.at("MLFLOW_TRACKING_URI") == "file:/r%20u/n/trackers/mlruns");
  CHECK(variables.at("TMPDIR") == "/r u/n/tmp");
  CHECK(variables.at("TORCHINDUCTOR_CACHE_DIR") == "/r u/n/cache/inductor");
  CHECK(view_environment({.kind = ViewKind::Copy, .folder = "/f", .run = "/r"}).at("TRITON_CACHE_DIR") ==
        "/r/cache/triton");
  CHECK(!variables.contains("JAX_COMPILATION_CACHE_DIR"));
  ::setenv("WANDB_MODE", "disabled", 1);
  CHECK(!view_environment({.kind = ViewKind::Copy, .folder = "/f", .run = "/r"}).contains("WANDB_MODE"));
  ::unsetenv("WANDB_MODE");
}

TEST_CASE("the folder for temporary files has a path that sockets can lie below", "[view]") {
  Project project;
  project.options.view.kind = ViewKind::Copy;
  project.put_runs_into(project.base() / std::string(80, 'r'));
  REQUIRE(project.run("echo x > $TMPDIR/x; echo $TMPDIR > path") == 0);
  CHECK(project.said("x") == "x\n");
  std::string path = text_of(project.last / "view" / "copy" / project.folder.relative_path() / "path");
  path.pop_back();
  CHECK(path.size() <= 75);
  CHECK(!fs::exists(fs::symlink_status(path)));
}

TEST_CASE("a link to the temporary files of a run that was killed goes with the next run, and no other link",
          "[view]") {
  Project project;
  project.options.view.kind = ViewKind::Copy;
  project.put_runs_into(project.base() / std::string(80, 'r'));
  const std::string own = std::to_string(::getpid());
  const auto link_to = [](const std::string& suffix, const fs::path& folder) {
    const fs::path link = "/tmp/nocturne-" + suffix;
    fs::create_symlink(folder, link);
    return link;
  };
  const fs::path alive = project.base() / ("run-" + own + "alive") / "tmp";
  fs::create_directories(alive);
  const fs::path dead = link_to(own + "dead", project.base() / ("run-" + own + "dead") / "tmp");
  const std::vector<fs::path> kept = {link_to(own + "alive", alive), link_to(own + "other", "/nowhere/tmp"),
                                      link_to(own + "file", project.base() / (own + "file"))};
  CHECK(project.run("true") == 0);
  CHECK(!fs::is_symlink(fs::symlink_status(dead)));
  for (const fs::path& link : kept) {
    INFO(link.string());
    CHECK(fs::is_symlink(fs::symlink_status(link)));
    fs::remove(link);
  }
}

TEST_CASE("the options of a view are read, and refused where they make no sense", "[view]") {
  using Words = std::vector<std::string>;
  const auto read = [](Words words) {
    for (const char* word : {"--", "./t", "--request", "r", "--events", "e"}) words.emplace_back(word);
    return read_options(words).view;
  };
  CHECK(read({}).kind == ViewKind::None);
  const ViewPlan view =
      read({"--view", "auto", "--cover-outside", "--view-limit", "5", "--share", "/a", "--share", "/b"});
  CHECK(view.kind == ViewKind::Auto);
  CHECK(view.covers_outside);
  CHECK(view.limit_bytes == 5);
  CHECK(view.shares == std::vector<fs::path>{"/a", "/b"});
  for (const Words& wrong : {Words{"--view", "all"}, Words{"--view-limit", "1GiB"}, Words{"--share", "/a"},
                             Words{"--cover-outside"}, Words{"--view", "none", "--cover-outside"}}) {
    CHECK_THROWS_AS(read(wrong), std::runtime_error);
  }
}

TEST_CASE("the table of mounts is read as the kernel writes it", "[view]") {
  const MountTable table(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "27 1 254:0 / / rw shared:1 master:2 - ext4 /dev/vda rw\n"
      "28 27 0:3 / /a\\040b\\134c ro,nosuid - tmpfs x rw\n"
      "29 28 0:3 / /a\\040b\\134c/d rw - nfs4 x rw\n"
      "damaged\n");
  REQUIRE(table.at("/a b\\c") != nullptr);
  CHECK(table.at("/a b\\c")->read_only);
  CHECK(table.at("/a b\\c/d")->kind == "nfs4");
  CHECK(table.at("/a") == nullptr);
  CHECK(table.any_below("/a b\\c"));
  CHECK(!table.any_below("/a b\\c/d"));
  CHECK(!table.any_below("/a"));
  CHECK(table.any_below("/"));
}

}  // namespace nocturne::command
