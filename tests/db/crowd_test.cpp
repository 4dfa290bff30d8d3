#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using nocturne::space::Outcome;

namespace {

int from_environment(const char* name, int usual) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : usual;
}

}  // namespace

// By hand: NOCTURNE_TEST_WRITERS=24 NOCTURNE_TEST_READERS=8 NOCTURNE_TEST_RESULTS=1000 NOCTURNE_TEST_KILLS=200.
TEST_CASE("many processes write and read one file, some are killed, and nothing is lost, double or refused", "[db]") {
  const int writers = from_environment("NOCTURNE_TEST_WRITERS", 6);
  const int readers = from_environment("NOCTURNE_TEST_READERS", 3);
  const int results = from_environment("NOCTURNE_TEST_RESULTS", 40);
  const int kills = from_environment("NOCTURNE_TEST_KILLS", 25);
  std::mt19937_64 random(static_cast<std::uint64_t>(from_environment("NOCTURNE_TEST_SEED", 1)));
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }

  std::vector<std::unique_ptr<Child>> reading;
  for (int i = 0; i < readers; ++i)
    reading.push_back(std::make_unique<Child>("watch", path, std::vector<std::string>{""}));
  const auto begin = [&](std::size_t writer) {
    return std::make_unique<Child>("tune", path,
                                   std::vector<std::string>{fmt::format("c{}", writer), std::to_string(results)});
  };
  std::vector<std::unique_ptr<Child>> writing;
  for (std::size_t i = 0; i < static_cast<std::size_t>(writers); ++i) writing.push_back(begin(i));

  std::vector<int> reported(writing.size(), -1);
  const auto hear = [&](std::size_t writer, const std::string& line) {
    INFO(line);
    REQUIRE(line.starts_with("finished "));  // else it is an error, of a lock for example
    reported[writer] = std::stoi(line.substr(9));
  };
  for (int killed = 0; killed < kills; ++killed) {
    const std::size_t victim = random() % writing.size();
    // As far as some lines later; the others are anywhere meanwhile.
    for (auto lines = random() % 6; lines > 0; --lines) {
      const auto line = writing[victim]->line();
      if (!line) break;
      hear(victim, *line);
    }
    writing[victim]->kill();
    while (const auto line = writing[victim]->line()) hear(victim, *line);
    writing[victim]->wait();
    writing[victim] = begin(victim);
  }
  for (std::size_t i = 0; i < writing.size(); ++i) {
    while (const auto line = writing[i]->line()) hear(i, *line);
    CHECK(writing[i]->wait().exit_code == 0);
    CHECK(reported[i] == results - 1);
  }
  for (const auto& reader : reading) {
    const std::string first = reader->line().value_or("nothing");  // among so many its turn may come late
    CHECK(first.starts_with("saw "));
    reader->kill();
    CHECK_THAT(reader->rest(), !Catch::Matchers::ContainsSubstring("error"));
  }

  Store store = open(path);
  CHECK(store.integrity_check().empty());
  for (int writer = 0; writer < writers; ++writer) {
    const auto campaign_id = store.load_campaign(fmt::format("c{}", writer)).id;
    const auto trials = store.list_trials({.campaign = campaign_id, .state = TrialState::Finished});
    REQUIRE(trials.size() == static_cast<std::size_t>(results));
    CHECK(store.exchanges(campaign_id).size() == trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) REQUIRE(trials[i].trial.number == static_cast<std::int64_t>(i));
  }
  CHECK(query_number(path, "SELECT count(*) FROM runs WHERE outcome = 'ok'") == writers * results);
  CHECK(query_number(path, "SELECT count(*) FROM samples s JOIN runs r ON r.id = s.run WHERE r.outcome = 'ok'") ==
        20 * writers * results);
  CHECK(query_number(path, "SELECT count(*) FROM runs WHERE in_flight = 1") == 0);
}
