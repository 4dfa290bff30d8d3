#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using Catch::Matchers::ContainsSubstring;

namespace {

CampaignRecord held_by_child() {
  return {.name = "c", .identity = "identity-of-c", .strategy = "random", .seed = 1};
}

Error refusal(Store& store) {
  return error_of([&] { return store.begin_or_resume_campaign(held_by_child()); });
}

}  // namespace

TEST_CASE("a second tuner of a campaign is refused with the pid of the first, until that is gone", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child holder("hold", path, {"c"});
  REQUIRE(holder.line() == "held");
  Store store = open(path);
  const Error error = refusal(store);
  CHECK(error.code == ErrorCode::Owned);
  CHECK_THAT(error.what(), ContainsSubstring("process " + std::to_string(holder.pid())));
  CHECK(store.find_campaign("c")->owner_pid == holder.pid());
  CHECK(error_of([&] { return store.remove_campaign(store.find_campaign("c")->id); }).code == ErrorCode::Owned);
  store.begin_or_resume_campaign(campaign("another"));

  holder.kill();
  // A process that dies closes its files before it is dead: waits for the zombie, and leaves it one.
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(holder.pid()), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(store.begin_or_resume_campaign(held_by_child()).resumed);
  CHECK(holder.wait().signal == 9);
}

TEST_CASE("a lease from before a reboot, or of a pid given to another, is dead", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child holder("hold", path, {"c"});
  REQUIRE(holder.line() == "held");
  Store store = open(path);
  SECTION("reboot") {
    execute_sql(path, "UPDATE owners SET boot_id = 'of another boot'");
  }
  SECTION("pid reused") {
    execute_sql(path, "UPDATE owners SET start_ticks = start_ticks - 1");
  }
  CHECK(!store.find_campaign("c")->owner_pid);
  CHECK(store.begin_or_resume_campaign(held_by_child()).resumed);
}

TEST_CASE("a lease of another container is respected, and the sentence says how to free it", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child holder("hold", path, {"c"});
  REQUIRE(holder.line() == "held");
  execute_sql(path, "UPDATE owners SET pid_namespace = 'pid:[1]', host = 'box'");
  Store store = open(path);
  const std::string message = refusal(store).what();
  CHECK_THAT(message, ContainsSubstring("'box'"));
  const std::size_t start = message.find("'DELETE");
  REQUIRE(start != std::string::npos);
  execute_sql(path, message.substr(start + 1, message.rfind('\'') - start - 1));
  CHECK(store.begin_or_resume_campaign(held_by_child()).resumed);
}

TEST_CASE("two stores of one process do not share a campaign; closing one frees it", "[db]") {
  const TemporaryFolder folder;
  Store second = open(folder / "n.db");
  {
    Store first = open(folder / "n.db");
    first.begin_or_resume_campaign(held_by_child());
    CHECK(refusal(second).code == ErrorCode::Owned);
    Store moved = std::move(first);
    CHECK(refusal(second).code == ErrorCode::Owned);
  }
  CHECK(second.begin_or_resume_campaign(held_by_child()).resumed);
}
