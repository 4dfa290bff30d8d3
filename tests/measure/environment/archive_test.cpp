#include "measure/environment/archive.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "measure/container/runtimes.hpp"
#include "tests/support/temporary_folder.hpp"

// Real archives by real tar.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

void put_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string text_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Somebody else's archive, written by Python's tarfile as `code` says with the open archive `tar` and `add(name,
/// text)`.
fs::path foreign_archive(const fs::path& folder, const std::string& code) {
  const fs::path script = folder / "write.py", file = folder / "foreign.nocturne";
  put_file(script, R"(import hashlib, io, json, sys, tarfile
tar = tarfile.open(sys.argv[1], "w:gz")
files, links = {}, {}
def add(name, text, listed=True):
    entry = tarfile.TarInfo("./" + name)
    entry.size = len(text)
    tar.addfile(entry, io.BytesIO(text.encode()))
    if listed: files[name] = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text)}
def link(name, target, kind=tarfile.SYMTYPE):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    tar.addfile(entry)
    links[name.replace("./", "", 1)] = target
)" + code + R"(
add("contents.json", json.dumps({"nocturne_archive": 1, "files": files, "links": links}), False)
tar.close()
)");
  const auto written = ask_tool({"python3", script.string(), file.string()}, std::chrono::seconds(30));
  INFO((written ? "" : written.error()));
  REQUIRE(written);
  return file;
}

std::string refusal_of(const fs::path& file, const fs::path& into) {
  fs::create_directories(into);
  const auto unpacked = unpack_archive(file, into);
  return unpacked ? std::string() : unpacked.error();
}

}  // namespace

TEST_CASE("what was packed comes out again, links and permissions too, and the same gives the same",
          "[environment][bundle]") {
  const test::TemporaryFolder folder;
  const fs::path from = folder.path() / "from", to = folder.path() / "to";
  put_file(from / "a/program", "#!/bin/sh\n");
  fs::permissions(from / "a/program", fs::perms::owner_all);
  put_file(from / "lib/libx.so.3", "library");
  fs::create_symlink("libx.so.3", from / "lib/libx.so");
  const auto id = pack_folder(from, folder.path() / "one.nocturne");
  INFO((id ? "" : id.error()));
  REQUIRE(id);
  fs::last_write_time(from / "a/program", fs::file_time_type::clock::now() + std::chrono::hours(1));
  const auto again = pack_folder(from, folder.path() / "two.nocturne");
  REQUIRE(again);
  CHECK(*again == *id);
  CHECK(text_in(folder.path() / "one.nocturne") == text_in(folder.path() / "two.nocturne"));

  fs::create_directories(to);
  const auto unpacked = unpack_archive(folder.path() / "one.nocturne", to);
  INFO((unpacked ? "" : unpacked.error()));
  REQUIRE(unpacked);
  CHECK(*unpacked == *id);
  CHECK(text_in(to / "a/program") == "#!/bin/sh\n");
  CHECK((fs::status(to / "a/program").permissions() & fs::perms::owner_exec) != fs::perms::none);
  CHECK(fs::read_symlink(to / "lib/libx.so") == "libx.so.3");

  setenv("TAR_OPTIONS", "--checkpoint=1", 1);  // it says how far it is, where it warns
  const auto talking = unpack_archive(folder.path() / "one.nocturne", to);
  unsetenv("TAR_OPTIONS");
  INFO((talking ? "" : talking.error()));
  CHECK(talking == id);
}

TEST_CASE("a link that leads out is neither packed nor unpacked", "[environment][bundle]") {
  const test::TemporaryFolder folder;
  put_file(folder.path() / "from/a", "text");
  fs::create_symlink("/etc/passwd", folder.path() / "from/out");
  const auto refused = pack_folder(folder.path() / "from", folder.path() / "x.nocturne");
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error(), ContainsSubstring("out leads out of it, to /etc/passwd"));
  CHECK_FALSE(fs::exists(folder.path() / "x.nocturne"));

  const std::string secret = (folder.path() / "secret").string();
  put_file(secret, "untouched");
  for (const std::string& code :
       {"link('./out', '" + secret + "')", std::string("link('./out', '../../secret')"),
        // Through a link that was made just before.
        "link('./out', '" + folder.path().string() + "')\nadd('out/secret', 'overwritten', False)",
        std::string("add('../../secret', 'overwritten', False)"), "add('" + secret + "', 'overwritten', False)",
        "link('./hard', '" + secret + "', tarfile.LNKTYPE)"}) {
    CAPTURE(code);
    const fs::path into = folder.path() / "into" / "deep";
    CHECK_FALSE(refusal_of(foreign_archive(folder.path(), code), into).empty());
    CHECK(text_in(secret) == "untouched");
    fs::remove_all(into);
  }
}

TEST_CASE("links may go up at their beginning alone", "[environment][bundle]") {
  CHECK(is_inner_link("lib/libx.so", "libx.so.3"));
  CHECK(is_inner_link("a/b/c", "../../d/e"));
  CHECK_FALSE(is_inner_link("a", ".."));
  CHECK_FALSE(is_inner_link("a/b", "../../c"));
  CHECK_FALSE(is_inner_link("a", "/etc"));
  CHECK_FALSE(is_inner_link("a", ""));
  CHECK_FALSE(is_inner_link("p/q/z", "shallow/../../x"));  // `shallow` may be a link to the top
}

TEST_CASE("what is torn, changed, missing or not listed is refused with its name", "[environment][bundle]") {
  const test::TemporaryFolder folder;
  const fs::path into = folder.path() / "into";
  put_file(folder.path() / "from/a", std::string(100'000, 'x'));
  REQUIRE(pack_folder(folder.path() / "from", folder.path() / "good.nocturne"));
  SECTION("half of it") {
    fs::resize_file(folder.path() / "good.nocturne", fs::file_size(folder.path() / "good.nocturne") / 2);
    CHECK_FALSE(refusal_of(folder.path() / "good.nocturne", into).empty());
  }
  SECTION("no archive at all") {
    put_file(folder.path() / "letter", "expensive nocturne");
    CHECK_THAT(refusal_of(folder.path() / "letter", into), ContainsSubstring("is no bundle"));
    CHECK_THAT(refusal_of(folder.path() / "gone", into), ContainsSubstring("there is no file"));
  }
  SECTION("packed by a program that is not here") {
    put_file(folder.path() / "packed", "\x28\xB5\x2F\xFD and more");
    fs::create_directory(folder.path() / "bin");
    fs::create_symlink(find_tool("tar").value(), folder.path() / "bin/tar");
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder.path() / "bin").c_str(), 1);
    const std::string refusal = refusal_of(folder.path() / "packed", into);
    setenv("PATH", path.c_str(), 1);
    CHECK_THAT(refusal, ContainsSubstring("packed with zstd, which is not here"));
  }
  SECTION("another text than the one listed") {
    const auto file = foreign_archive(folder.path(), "add('a', 'one')\nadd('a', 'two', False)");
    CHECK_THAT(refusal_of(file, into), ContainsSubstring("a is not what it was"));
  }
  SECTION("not listed") {
    CHECK_THAT(refusal_of(foreign_archive(folder.path(), "add('b', 'one', False)"), into),
               ContainsSubstring("holds b, which it does not list"));
  }
  SECTION("listed and not there") {
    CHECK_THAT(refusal_of(foreign_archive(folder.path(), "files['c'] = {'sha256': '0', 'bytes': 1}"), into),
               ContainsSubstring("c is missing"));
  }
  SECTION("larger than the disk") {
    CHECK_THAT(refusal_of(foreign_archive(folder.path(), "files['c'] = {'sha256': '0', 'bytes': 10 ** 18}"), into),
               ContainsSubstring("free some space"));
  }
}

}  // namespace nocturne::measure
