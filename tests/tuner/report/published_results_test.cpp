#include "tuner/report/published_results.hpp"

#include <limits>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tuner/report/evidence.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using report::Judgement;
using report::ReplicationOutcome;
using report::Size;

space::Configuration settings_of(const nlohmann::json& document) {
  return space::Configuration::from_json(document).value();
}

report::PublishedResult published_on_xla() {
  return {.id = "xla",
          .device = "cpu",
          .reference = settings_of({{"framework", "tf"}, {"graph_compiler", "none"}}),
          .candidate = settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}}),
          .published_percent = -30};
}

}  // namespace

TEST_CASE("the published results of the paper can be read, and each id is its own", "[report]") {
  const auto published_results = report::read_published_results(report::published_results_of_paper_text());
  REQUIRE(published_results);
  std::set<std::string> ids;
  for (const report::PublishedResult& each : *published_results) {
    CHECK(ids.insert(each.id).second);
    CHECK((each.device == "cpu" || each.device == "gpu"));
    CHECK((each.kind == report::PublishedKind::FirstEpoch || each.published_percent.has_value()));
  }
  CHECK(ids.contains("tensorflow-2.1"));
  CHECK(ids.contains("first-epoch"));
}

TEST_CASE("a published result that cannot be understood is named with what is wrong", "[report]") {
  CHECK_THAT(report::read_published_results("[]").error(), ContainsSubstring("'published results'"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x"}]})").error(),
             ContainsSubstring("published result 0") && ContainsSubstring("title"));
  CHECK_THAT(report::read_published_results(R"({"results": [{"id": "x", "title": "x", "sentence": "x", "network": "n",
    "device": "cpu", "published_percent": 0, "reference": {"a": 1}, "candidate": {"a": 2}}]})")
                 .error(),
             ContainsSubstring("which of two different sides is faster"));
}

TEST_CASE("a published result of faster is confirmed, reversed or undecided by its whole interval", "[report]") {
  CHECK(report::judge(54, 40, 60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Inside});
  CHECK(report::judge(54, 1, 6, true) == Judgement{ReplicationOutcome::Confirmed, Size::Smaller});
  CHECK(report::judge(54, 60, 80, true) == Judgement{ReplicationOutcome::Confirmed, Size::Larger});
  CHECK(report::judge(54, -20, -2, true) == Judgement{ReplicationOutcome::Reversed, Size::Smaller});
  CHECK(report::judge(54, -1, 3, true) == Judgement{ReplicationOutcome::Undecided, Size::Smaller});
  CHECK(report::judge(4, -1, 5, true) == Judgement{ReplicationOutcome::Undecided, Size::Inside});
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(report::judge(4, -100, endless, true) == Judgement{ReplicationOutcome::Undecided, Size::Inside});
}

TEST_CASE("a published result of slower is judged in the mirror", "[report]") {
  CHECK(report::judge(-30, -35, -25, true) == Judgement{ReplicationOutcome::Confirmed, Size::Inside});
  CHECK(report::judge(-30, -10, -5, true) == Judgement{ReplicationOutcome::Confirmed, Size::Smaller});
  CHECK(report::judge(-30, -80, -60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Larger});
  CHECK(report::judge(-30, 2, 9, true) == Judgement{ReplicationOutcome::Reversed, Size::Smaller});
  CHECK(report::judge(-30, -2, 9, true) == Judgement{ReplicationOutcome::Undecided, Size::Smaller});
}

TEST_CASE("what was not interleaved decides nothing, and a published result without a size has none", "[report]") {
  CHECK(report::judge(54, 50, 60, false) == Judgement{ReplicationOutcome::Undecided, Size::Unknown});
  CHECK(report::judge(std::nullopt, 50, 60, true) == Judgement{ReplicationOutcome::Confirmed, Size::Unknown});
  CHECK(report::judge(std::nullopt, -5, -1, true).finding == ReplicationOutcome::Reversed);
}

TEST_CASE("a judgement is a sentence", "[report]") {
  CHECK(report::sentence_of({ReplicationOutcome::Confirmed, Size::Inside}) == "confirmed, as large as published");
  CHECK(report::sentence_of({ReplicationOutcome::Confirmed, Size::Smaller}) == "confirmed, but smaller");
  CHECK(report::sentence_of({ReplicationOutcome::Undecided, Size::Smaller}) ==
        "undecided, the published size is excluded");
  CHECK(report::sentence_of({ReplicationOutcome::Reversed, Size::Smaller}) == "reversed");
  CHECK(report::sentence_of({}) == "not measured");
}

TEST_CASE("'none' of a published result also means a parameter that is absent, and the device is the CPU unless said",
          "[report]") {
  const report::PublishedResult published = published_on_xla();
  CHECK(report::is_side(published, published.reference, settings_of({{"framework", "tf"}, {"batch", 64}})));
  CHECK(
      report::is_side(published, published.reference, settings_of({{"framework", "tf"}, {"graph_compiler", "none"}})));
  CHECK(
      !report::is_side(published, published.reference, settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}})));
  CHECK(!report::is_side(published, published.candidate, settings_of({{"framework", "tf"}})));
  CHECK(!report::is_side(published, published.reference, settings_of({{"framework", "tf"}, {"device", "gpu"}})));
}

TEST_CASE("two sides that differ in more than the published result is about are no evidence", "[report]") {
  const report::PublishedResult published = published_on_xla();
  const auto reference = settings_of({{"framework", "tf"}, {"graph_compiler", "none"}, {"batch", 64}});
  CHECK(report::differ_as_published(published, reference,
                                    settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}})));
  CHECK(!report::differ_as_published(published, reference,
                                     settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 128}})));
  // What one of the values activates belongs to it.
  CHECK(report::differ_as_published(
      published, reference,
      settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}, {"clusters", true}})));
}

TEST_CASE("a side is written as words for the command line", "[report]") {
  CHECK(report::side_words(published_on_xla().candidate) == "framework=tf,graph_compiler=xla");
}

}  // namespace nocturne::test
