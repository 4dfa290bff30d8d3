#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

PreflightRecord preflight(const std::string& march, Outcome outcome) {
  PreflightRecord record{.stack = {}, .configuration = configuration(2), .outcome = outcome};
  record.stack.set("march", march);
  record.configuration.set("march", march);
  return record;
}

}  // namespace

TEST_CASE("a preflight is stored by its software stack, the latest counts", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  auto native = preflight("native", Outcome::BuildFailed);
  native.reason = "no such flag";
  native.log_tail = "error: \xff";
  native.preflight_unix_ns = 1;
  store.save_preflight(id, native);
  auto other = preflight("x86-64", Outcome::Ok);
  other.too_large = {1024, 512};
  other.prepare = std::chrono::seconds(40);
  other.train = std::chrono::seconds(2);
  other.preflight_unix_ns = 2;
  store.save_preflight(id, other);
  auto stored = store.preflights(id);
  REQUIRE(stored.size() == 2);
  CHECK(stored[0].stack == native.stack);
  CHECK(stored[0].outcome == Outcome::BuildFailed);
  CHECK(stored[0].reason == "no such flag");
  CHECK(stored[0].log_tail == "error: \xff");
  CHECK(stored[1].configuration == other.configuration);
  CHECK(stored[1].too_large == std::vector<std::int64_t>{1024, 512});
  CHECK(stored[1].prepare == std::chrono::seconds(40));
  CHECK(stored[1].train == std::chrono::seconds(2));
  CHECK(stored[1].preflight_unix_ns == 2);

  store.save_preflight(id, preflight("native", Outcome::Ok));
  stored = store.preflights(id);
  REQUIRE(stored.size() == 2);
  CHECK(stored[1].stack == native.stack);  // now the last one
  CHECK(stored[1].outcome == Outcome::Ok);
  CHECK(stored[1].preflight_unix_ns > 2);
}

TEST_CASE("a preflight belongs to its campaign, whose tuner alone writes it", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  CHECK(error_of([&] { return store.save_preflight(id, preflight("native", Outcome::Killed)); }).code ==
        ErrorCode::Inconsistent);
  store.save_preflight(id, preflight("native", Outcome::Ok));
  store.release_campaign(id);
  CHECK(error_of([&] { return store.save_preflight(id, preflight("x", Outcome::Ok)); }).code == ErrorCode::NotOwner);
  store.remove_campaign(id);
  CHECK(store.preflights(id).empty());
  CHECK(store.integrity_check().empty());
}
