#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("fingerprints are stored once by hash", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  store.save_fingerprint({.hash = "h", .fields = {{"kernel", "6.1"}}});
  store.save_fingerprint({.hash = "h", .fields = {{"kernel", "6.1"}}});
  CHECK(store.load_fingerprint("h").fields == nlohmann::json{{"kernel", "6.1"}});
  CHECK(error_of([&] { return store.load_fingerprint("x"); }).code == ErrorCode::NotFound);
}

TEST_CASE("builds are replaced by key, listed by last use, and forgotten", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  BuildRecord build{.key = "k1",
                    .program = "nocturne-onednn",
                    .compiler = "g++ 12.2.0",
                    .flags = {"-O3", "-march=sapphirerapids"},
                    .folder = "/cache/k1",
                    .build_ns = 8'000'000'000,
                    .size_bytes = 3'000'000,
                    .created_unix_ns = 100,
                    .last_used_unix_ns = 100};
  store.save_build(build);
  build.last_used_unix_ns = 300;
  store.save_build(build);
  store.save_build({.key = "k2", .created_unix_ns = 200, .last_used_unix_ns = 200});
  auto builds = store.list_builds();
  REQUIRE(builds.size() == 2);
  CHECK(builds[0].key == "k1");
  CHECK(builds[0].program == "nocturne-onednn");
  CHECK(builds[0].compiler == "g++ 12.2.0");
  CHECK(builds[0].flags == build.flags);
  CHECK(builds[0].folder == "/cache/k1");
  CHECK(builds[0].build_ns == 8'000'000'000);
  CHECK(builds[0].size_bytes == 3'000'000);
  CHECK(builds[0].created_unix_ns == 100);
  CHECK(builds[0].last_used_unix_ns == 300);
  store.forget_build("k1");
  CHECK(store.list_builds().size() == 1);
}

TEST_CASE("the log gives its last lines, oldest first", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  store.append_event({.campaign = id, .time_unix_ns = 1, .level = Level::Info, .what = "one"});
  store.append_event({.campaign = id, .time_unix_ns = 2, .level = Level::Warning, .what = "two"});
  store.append_event({.time_unix_ns = 3, .level = Level::Error, .what = "of no campaign"});
  const auto all = store.events({}, 2);
  REQUIRE(all.size() == 2);
  CHECK(all[0].what == "two");
  CHECK(all[0].level == Level::Warning);
  CHECK(all[0].campaign == id);
  CHECK(all[1].level == Level::Error);
  CHECK(!all[1].campaign);
  CHECK(store.events(id).size() == 2);
}
