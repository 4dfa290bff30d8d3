#include <unistd.h>

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "db/migrations.hpp"
#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Error refused(const std::filesystem::path& path, Mode mode = Mode::ReadWrite) {
  Error error = error_of([&] { return Store::open(path, mode); });
  CHECK_THAT(error.what(), ContainsSubstring(path.string()));
  return error;
}

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("a missing file and its folders are made, in WAL mode and with our application id", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b c" / "nocturne.db";
  const Store store = open(path);
  CHECK(store.path() == path);
  CHECK(query_number(path, "PRAGMA application_id") == kApplicationId);
  CHECK(query_number(path, "PRAGMA user_version") == newest_version());
  CHECK(query_number(path, "SELECT journal_mode = 'wal' FROM pragma_journal_mode") == 1);
  CHECK(store.integrity_check().empty());
}

TEST_CASE("every table is strict", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  const Store store = open(path);
  CHECK(query_number(path, "SELECT count(*) FROM pragma_table_list WHERE strict = 0 AND name NOT LIKE 'sqlite%'") == 0);
}

TEST_CASE("an empty file becomes a database", "[db]") {
  const TemporaryFolder folder;
  write_bytes(folder / "n.db", "");
  const Store store = open(folder / "n.db");
  CHECK(store.list_campaigns().empty());
}

TEST_CASE("a database from a newer version is refused with both versions", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }
  execute_sql(path, "PRAGMA user_version = 4711");
  for (const Mode mode : {Mode::ReadWrite, Mode::ReadOnly}) {
    const Error error = refused(path, mode);
    CHECK(error.code == ErrorCode::Newer);
    CHECK_THAT(error.what(),
               ContainsSubstring("4711") && ContainsSubstring("version " + std::to_string(newest_version())));
  }
  CHECK(query_number(path, "PRAGMA user_version") == 4711);
}

TEST_CASE("a store notices that a newer program migrated its file meanwhile", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  store.append_event({.what = "before"});
  execute_sql(path, "PRAGMA user_version = 4711");
  CHECK(error_of([&] { store.append_event({.what = "after"}); }).code == ErrorCode::Newer);
}

TEST_CASE("another program's database is refused and left untouched", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "places.sqlite";
  SECTION("with an application id of its own") {
    execute_sql(path, "PRAGMA application_id = 77; CREATE TABLE t (a)");
  }
  SECTION("with tables and no application id") {
    execute_sql(path, "CREATE TABLE t (a)");
  }
  SECTION("with a version and no tables") {
    execute_sql(path, "PRAGMA user_version = 3");
  }
  const std::string before = read_bytes(path);
  CHECK(refused(path).code == ErrorCode::NotOurs);
  CHECK(refused(path, Mode::ReadOnly).code == ErrorCode::NotOurs);
  CHECK(read_bytes(path) == before);
}

TEST_CASE("a database from before the first release is refused with what to do, and left untouched", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  const int version = GENERATE(1, 9);
  execute_sql(path, fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; CREATE TABLE campaigns (a)",
                                kUnreleasedApplicationId, version));
  const std::string before = read_bytes(path);
  for (const Mode mode : {Mode::ReadWrite, Mode::ReadOnly}) {
    const Error error = refused(path, mode);
    CHECK(error.code == ErrorCode::Older);
    CHECK_THAT(error.what(), ContainsSubstring("before the first release") && ContainsSubstring("Move it away"));
  }
  CHECK(read_bytes(path) == before);
}

TEST_CASE("what is no database is refused and left untouched", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  write_bytes(path, "\x89PNG\r\n" + std::string(5000, 'p'));
  const std::string before = read_bytes(path);
  CHECK(refused(path).code == ErrorCode::NotOurs);
  CHECK(read_bytes(path) == before);
  CHECK(refused(folder.path()).code == ErrorCode::NotOurs);
}

TEST_CASE("a torn header is recognised", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }
  std::filesystem::resize_file(path, 50);
  CHECK(refused(path).code == ErrorCode::Damaged);
}

TEST_CASE("a file cut short is reported as damaged, not misread", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }
  std::filesystem::resize_file(path, 4096 * 3);
  const auto use = [&] {
    const Store store = open(path);
    if (!store.integrity_check().empty()) throw Error(ErrorCode::Damaged, "found by the check");
  };
  CHECK(error_of(use).code == ErrorCode::Damaged);
}

TEST_CASE("overwritten pages are found by the integrity check", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    Store store = open(path);
    const auto handle = store.begin_or_resume_campaign(campaign("c"));
    const auto trial = store.reserve_trial(handle.id, reservation(0));
    const std::vector<RunRecord> runs = {run("r", 5000)};
    store.finish_trial(trial, ok_result(1), runs);
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path)) - 4096 * 4);
  file << std::string(4096, '\x55');
  file.close();
  const Store store = open(path);
  bool found = false;
  try {
    found = !store.integrity_check().empty();
  } catch (const Error&) {
    found = true;
  }
  CHECK(found);
}

TEST_CASE("reading what does not exist says so and makes nothing", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "none" / "n.db";
  CHECK(refused(path, Mode::ReadOnly).code == ErrorCode::NotFound);
  CHECK(!std::filesystem::exists(path.parent_path()));
}

TEST_CASE("a folder that is a file is named", "[db]") {
  const TemporaryFolder folder;
  write_bytes(folder / "file", "x");
  CHECK_THAT(error_of([&] { return open(folder.path() / "file" / "n.db"); }).what(),
             ContainsSubstring((folder / "file").string()));
}

TEST_CASE("a store opened for reading writes nothing", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }
  Store store = open(path, Mode::ReadOnly);
  CHECK(error_of([&] { store.append_event({.what = "no"}); }).code == ErrorCode::ReadOnly);
  CHECK(store.events({}).empty());
}

TEST_CASE("a file that this user may not write is refused for writing, and read", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "r?o #1%.db";  // characters that mean something in a URI
  {
    Store store = open(path);
    store.begin_or_resume_campaign(campaign("kept"));
  }
  using std::filesystem::perms;
  std::filesystem::permissions(path, perms::owner_read | perms::group_read | perms::others_read);
  std::filesystem::permissions(folder.path(),
                               perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
  Child writer("open-as-nobody", path, {"write"});
  const std::string said = writer.rest();
  if (said.starts_with("skip")) SKIP(said);
  CHECK_THAT(said, ContainsSubstring("error " + std::to_string(static_cast<int>(ErrorCode::ReadOnly))) &&
                       ContainsSubstring("permissions"));
  Child reader("open-as-nobody", path, {"read"});
  CHECK(reader.rest() == "opened 1\n");
  Child elsewhere("open-as-nobody", folder.path() / "new" / "n.db", {"write"});
  CHECK_THAT(elsewhere.rest(), ContainsSubstring("error " + std::to_string(static_cast<int>(ErrorCode::ReadOnly))));

  // Where the folder may be written and the file may not, SQLite itself would open it and fail at the first write.
  std::filesystem::permissions(folder.path(), perms::all);
  Child late("open-as-nobody", path, {"write"});
  CHECK_THAT(late.rest(), ContainsSubstring("error " + std::to_string(static_cast<int>(ErrorCode::ReadOnly))));

  std::filesystem::permissions(path, perms::none);
  Child blind("open-as-nobody", path, {"read"});
  CHECK_THAT(blind.rest(), ContainsSubstring("cannot be read by this user"));
}
