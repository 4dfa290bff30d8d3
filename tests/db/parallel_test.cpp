#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("four processes begin one file together and store 200 trials each, and none is lost or refused", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(std::make_unique<Child>("tune", path, std::vector<std::string>{fmt::format("c{}", i), "200"}));
  for (const auto& child : children) {
    std::string last;
    while (const auto line = child->line()) last = *line;
    CHECK(last == "finished 199");
    CHECK(child->wait().exit_code == 0);
  }
  Store store = open(path);
  CHECK(store.integrity_check().empty());
  CHECK(store.list_campaigns().size() == 4);
  CHECK(store.list_trials({.state = TrialState::Finished}).size() == 800);
  CHECK(query_number(path, "SELECT count(*) FROM samples") == 800 * 20);
  CHECK(query_number(path, "SELECT count(*) FROM leases") == 0);
}

TEST_CASE("eight processes that open a missing file at once all find it well made", "[db]") {
  for (int round = 0; round < 10; ++round) {
    const TemporaryFolder folder;
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 8; ++i) {
      children.push_back(
          std::make_unique<Child>("tune", folder / "n.db", std::vector<std::string>{fmt::format("c{}", i), "1"}));
    }
    for (const auto& child : children) CHECK(child->rest() == "finished 0\n");
  }
}

TEST_CASE("a reader sees one moment while another process writes", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child writer("tune", path, {"c", "100"});
  REQUIRE(writer.line());
  const Store reader = open(path, Mode::ReadOnly);
  bool writing = true;
  while (writing) {
    writing = writer.line().has_value();
    for (const StoredTrial& stored : reader.list_trials({}))
      REQUIRE((stored.state == TrialState::Reserved || stored.runs == 1));
  }
  CHECK(reader.list_trials({.state = TrialState::Finished}).size() == 100);
}
