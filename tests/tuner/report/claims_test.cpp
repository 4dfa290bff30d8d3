#include "tuner/report/claims.hpp"

#include <limits>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tuner/report/judgement.hpp"

namespace nocturne::tests {
namespace {

using Catch::Matchers::ContainsSubstring;
using report::Finding;
using report::Judgement;
using report::Size;

space::Configuration settings_of(const nlohmann::json& document) {
  return space::Configuration::from_json(document).value();
}

report::Claim claim_on_xla() {
  return {.id = "xla",
          .device = "cpu",
          .reference = settings_of({{"framework", "tf"}, {"graph_compiler", "none"}}),
          .candidate = settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}}),
          .claimed_percent = -30};
}

}  // namespace

TEST_CASE("the claims of the paper can be read, and each id is its own", "[report]") {
  const auto claims = report::read_claims(report::paper_claims_text());
  REQUIRE(claims);
  std::set<std::string> ids;
  for (const report::Claim& each : *claims) {
    CHECK(ids.insert(each.id).second);
    CHECK((each.device == "cpu" || each.device == "gpu"));
    CHECK((each.kind == report::ClaimKind::FirstEpoch || each.claimed_percent.has_value()));
  }
  CHECK(ids.contains("tensorflow-2.1"));
  CHECK(ids.contains("first-epoch"));
}

TEST_CASE("a claim that cannot be understood is named with what is wrong", "[report]") {
  CHECK_THAT(report::read_claims("[]").error(), ContainsSubstring("'claims'"));
  CHECK_THAT(report::read_claims(R"({"claims": [{"id": "x"}]})").error(),
             ContainsSubstring("claim 0") && ContainsSubstring("title"));
  CHECK_THAT(report::read_claims(R"({"claims": [{"id": "x", "title": "x", "sentence": "x", "network": "n",
    "device": "cpu", "claimed_percent": 0, "reference": {"a": 1}, "candidate": {"a": 2}}]})")
                 .error(),
             ContainsSubstring("which of two different sides is faster"));
}

TEST_CASE("a claim of faster is confirmed, reversed or undecided by its whole interval", "[report]") {
  CHECK(report::judge(54, 40, 60, true) == Judgement{Finding::Confirmed, Size::Inside});
  CHECK(report::judge(54, 1, 6, true) == Judgement{Finding::Confirmed, Size::Smaller});
  CHECK(report::judge(54, 60, 80, true) == Judgement{Finding::Confirmed, Size::Larger});
  CHECK(report::judge(54, -20, -2, true) == Judgement{Finding::Reversed, Size::Smaller});
  CHECK(report::judge(54, -1, 3, true) == Judgement{Finding::Undecided, Size::Smaller});
  CHECK(report::judge(4, -1, 5, true) == Judgement{Finding::Undecided, Size::Inside});
  const double endless = std::numeric_limits<double>::infinity();
  CHECK(report::judge(4, -100, endless, true) == Judgement{Finding::Undecided, Size::Inside});
}

TEST_CASE("a claim of slower is judged in the mirror", "[report]") {
  CHECK(report::judge(-30, -35, -25, true) == Judgement{Finding::Confirmed, Size::Inside});
  CHECK(report::judge(-30, -10, -5, true) == Judgement{Finding::Confirmed, Size::Smaller});
  CHECK(report::judge(-30, -80, -60, true) == Judgement{Finding::Confirmed, Size::Larger});
  CHECK(report::judge(-30, 2, 9, true) == Judgement{Finding::Reversed, Size::Smaller});
  CHECK(report::judge(-30, -2, 9, true) == Judgement{Finding::Undecided, Size::Smaller});
}

TEST_CASE("what was not interleaved decides nothing, and a claim without a size has none", "[report]") {
  CHECK(report::judge(54, 50, 60, false) == Judgement{Finding::Undecided, Size::Unknown});
  CHECK(report::judge(std::nullopt, 50, 60, true) == Judgement{Finding::Confirmed, Size::Unknown});
  CHECK(report::judge(std::nullopt, -5, -1, true).finding == Finding::Reversed);
}

TEST_CASE("a judgement is a sentence", "[report]") {
  CHECK(report::sentence_of({Finding::Confirmed, Size::Inside}) == "confirmed, as large as claimed");
  CHECK(report::sentence_of({Finding::Confirmed, Size::Smaller}) == "confirmed, but smaller");
  CHECK(report::sentence_of({Finding::Undecided, Size::Smaller}) == "undecided, the claimed size is excluded");
  CHECK(report::sentence_of({Finding::Reversed, Size::Smaller}) == "reversed");
  CHECK(report::sentence_of({}) == "not measured");
}

TEST_CASE("'none' of a claim also means a parameter that is absent, and the device is the CPU unless said",
          "[report]") {
  const report::Claim claim = claim_on_xla();
  CHECK(report::is_side(claim, claim.reference, settings_of({{"framework", "tf"}, {"batch", 64}})));
  CHECK(report::is_side(claim, claim.reference, settings_of({{"framework", "tf"}, {"graph_compiler", "none"}})));
  CHECK(!report::is_side(claim, claim.reference, settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}})));
  CHECK(!report::is_side(claim, claim.candidate, settings_of({{"framework", "tf"}})));
  CHECK(!report::is_side(claim, claim.reference, settings_of({{"framework", "tf"}, {"device", "gpu"}})));
}

TEST_CASE("two sides that differ in more than the claim is about are no evidence", "[report]") {
  const report::Claim claim = claim_on_xla();
  const auto reference = settings_of({{"framework", "tf"}, {"graph_compiler", "none"}, {"batch", 64}});
  CHECK(report::differ_as_claimed(claim, reference,
                                  settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}})));
  CHECK(!report::differ_as_claimed(claim, reference,
                                   settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 128}})));
  // What one of the values activates belongs to it.
  CHECK(report::differ_as_claimed(
      claim, reference,
      settings_of({{"framework", "tf"}, {"graph_compiler", "xla"}, {"batch", 64}, {"clusters", true}})));
}

TEST_CASE("a side is written as words for the command line", "[report]") {
  CHECK(report::side_words(claim_on_xla().candidate) == "framework=tf,graph_compiler=xla");
}

}  // namespace nocturne::tests
