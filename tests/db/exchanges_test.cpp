#include <catch2/catch_test_macros.hpp>

#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

TEST_CASE("asks and tells come back in the order in which they happened, as they were told then", "[db]") {
  const TemporaryFolder folder;
  CampaignId id = 0;
  {
    Store store = open(folder / "n.db");
    id = store.begin_or_resume_campaign(campaign("c")).id;
    store.finish_trial(store.reserve_trial(id, reservation(0)), ok_result(9));
    store.record_ask(id, {.strategy = "random",
                          .seed = 7,
                          .count = 3,
                          .answer = {{.number = 1, .configuration = configuration(1)},
                                     {.number = 2,
                                      .configuration = configuration(2),
                                      .purpose = nocturne::space::Purpose::Audit,
                                      .reason = "drawn from the pruned",
                                      .predicted_log_bound = 2.5,
                                      .predicted_log_margin = 0.25}}});
    const auto one = store.reserve_trial(id, reservation(1));
    store.finish_trial(one, ok_result(5));
    store.record_ask(id, {.strategy = "local", .seed = 8, .count = 1, .answer = {}});
    store.update_trial(one, failed_result(nocturne::space::Outcome::Wrong, "accuracy 0.1 after one epoch"));
  }
  const Store store = open(folder / "n.db", Mode::ReadOnly);
  const auto log = store.exchanges(id);
  REQUIRE(log.size() == 5);
  CHECK(std::get<Tell>(log[0]).trial.number == 0);
  const Ask& ask = std::get<Ask>(log[1]);
  CHECK(ask.strategy == "random");
  CHECK(ask.seed == 7);
  CHECK(ask.count == 3);
  REQUIRE(ask.answer.size() == 2);
  CHECK(ask.answer[1].number == 2);
  CHECK(ask.answer[1].configuration == configuration(2));
  CHECK(ask.answer[0].purpose == nocturne::space::Purpose::Search);
  CHECK(ask.answer[0].reason.empty());
  CHECK(ask.answer[1].purpose == nocturne::space::Purpose::Audit);
  CHECK(ask.answer[1].reason == "drawn from the pruned");
  CHECK_FALSE(ask.answer[0].predicted_log_bound);
  CHECK(ask.answer[1].predicted_log_bound == 2.5);
  CHECK(ask.answer[1].predicted_log_margin == 0.25);
  const auto& then = std::get<Tell>(log[2]).trial;
  CHECK(then.number == 1);
  CHECK(then.configuration == configuration(1));
  CHECK(then.fidelity.steps == 40);
  CHECK(then.outcome == nocturne::space::Outcome::Ok);
  CHECK(then.estimate == ok_result(5).estimate);
  CHECK(then.parts == ok_result(5).parts);
  CHECK(std::get<Ask>(log[3]).answer.empty());
  const auto& later = std::get<Tell>(log[4]).trial;
  CHECK(later.number == 1);
  CHECK(later.outcome == nocturne::space::Outcome::Wrong);
  CHECK(later.reason == "accuracy 0.1 after one epoch");
  CHECK(!later.estimate);
}

TEST_CASE("numbers that were asked count, although nothing was reserved yet", "[db]") {
  const TemporaryFolder folder;
  Store store = open(folder / "n.db");
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  store.record_ask(id,
                   {.strategy = "random", .count = 1, .answer = {{.number = 0, .configuration = configuration(0)}}});
  CHECK(store.begin_or_resume_campaign(campaign("c")).trials == 1);
  SECTION("a number is asked once") {
    CHECK(error_of([&] {
            return store.record_ask(id, {.strategy = "random", .count = 1, .answer = {{.number = 0}}});
          }).code == ErrorCode::Inconsistent);
    CHECK(store.exchanges(id).size() == 1);
  }
  SECTION("a trial has the configuration that was asked") {
    TrialReservation other = reservation(0);
    other.configuration = configuration(5);
    CHECK(error_of([&] { return store.reserve_trial(id, other); }).code == ErrorCode::Inconsistent);
    CHECK(store.reserve_trial(id, reservation(0)));
  }
}
