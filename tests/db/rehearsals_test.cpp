#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

RehearsalRecord rehearsal(const std::string& march, Outcome outcome) {
  RehearsalRecord record{.row = {}, .configuration = configuration(2), .outcome = outcome};
  record.row.set("march", march);
  record.configuration.set("march", march);
  return record;
}

}  // namespace

TEST_CASE("a rehearsal is stored by its row, the latest counts", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = must(store.begin_or_resume_campaign(campaign("c"))).id;
  auto native = rehearsal("native", Outcome::BuildFailed);
  native.reason = "no such flag";
  native.log_tail = "error: \xff";
  native.rehearsed_unix_ns = 1;
  must(store.save_rehearsal(id, native));
  auto other = rehearsal("x86-64", Outcome::Ok);
  other.too_large = {1024, 512};
  other.prepare = std::chrono::seconds(40);
  other.train = std::chrono::seconds(2);
  other.rehearsed_unix_ns = 2;
  must(store.save_rehearsal(id, other));
  auto stored = must(store.rehearsals(id));
  REQUIRE(stored.size() == 2);
  CHECK(stored[0].row == native.row);
  CHECK(stored[0].outcome == Outcome::BuildFailed);
  CHECK(stored[0].reason == "no such flag");
  CHECK(stored[0].log_tail == "error: \xff");
  CHECK(stored[1].configuration == other.configuration);
  CHECK(stored[1].too_large == std::vector<std::int64_t>{1024, 512});
  CHECK(stored[1].prepare == std::chrono::seconds(40));
  CHECK(stored[1].train == std::chrono::seconds(2));
  CHECK(stored[1].rehearsed_unix_ns == 2);

  must(store.save_rehearsal(id, rehearsal("native", Outcome::Ok)));
  stored = must(store.rehearsals(id));
  REQUIRE(stored.size() == 2);
  CHECK(stored[1].row == native.row);  // now the last one
  CHECK(stored[1].outcome == Outcome::Ok);
  CHECK(stored[1].rehearsed_unix_ns > 2);
}

TEST_CASE("a rehearsal belongs to its campaign, whose tuner alone writes it", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = must(store.begin_or_resume_campaign(campaign("c"))).id;
  CHECK(store.save_rehearsal(id, rehearsal("native", Outcome::Killed)).error().code == ErrorCode::Inconsistent);
  must(store.save_rehearsal(id, rehearsal("native", Outcome::Ok)));
  must(store.release_campaign(id));
  CHECK(store.save_rehearsal(id, rehearsal("x", Outcome::Ok)).error().code == ErrorCode::NotOwner);
  must(store.remove_campaign(id));
  CHECK(must(store.rehearsals(id)).empty());
  CHECK(must(store.integrity_check()).empty());
}
