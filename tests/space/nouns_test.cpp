#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "space/configuration.hpp"
#include "space/count.hpp"
#include "space/digest.hpp"
#include "space/fingerprint.hpp"
#include "space/json_field.hpp"
#include "space/nearest.hpp"
#include "space/objective.hpp"
#include "space/outcome.hpp"
#include "space/parse_number.hpp"
#include "space/stage.hpp"

namespace nocturne::space {

TEST_CASE("an identity does not depend on the order of keys and does on types", "[configuration]") {
  Configuration a;
  a.set("threads", std::int64_t{2});
  a.set("precision", std::string("f32"));
  Configuration b;
  b.set("precision", std::string("f32"));
  b.set("threads", std::int64_t{2});
  CHECK(a == b);
  CHECK(a.canonical() == R"({"precision":"f32","threads":2})");
  CHECK(a.identity() == b.identity());
  CHECK(a.identity() == sha256(R"({"precision":"f32","threads":2})").substr(0, 32));
  b.set("threads", 2.0);
  CHECK(a.identity() != b.identity());
}

TEST_CASE("a configuration comes back from its JSON", "[configuration]") {
  Configuration all;
  all.set("flag", true);
  all.set("whole", std::numeric_limits<std::int64_t>::min());
  all.set("real", 1.0);
  all.set("small", 0.1 + 0.2);
  all.set("text", std::string("a \"b\" ü"));
  const auto again = Configuration::from_json(nlohmann::json::parse(all.canonical()));
  REQUIRE(again.has_value());
  CHECK(*again == all);
  CHECK(Configuration::from_json(nlohmann::json::parse(R"({"a": [1]})")).error() ==
        "'a': a value is a boolean, a number or a text, not array");
  CHECK(Configuration::from_json(nlohmann::json::parse(R"({"a": 18446744073709551615})")).error() ==
        "'a': the integer 18446744073709551615 does not fit 64 bits");
  CHECK_FALSE(Configuration::from_json(nlohmann::json::parse("3")).has_value());
}

TEST_CASE("a configuration tells values as text, and as whole numbers where they are that", "[configuration]") {
  Configuration configuration;
  configuration.set("threads", std::int64_t{2});
  configuration.set("rate", 0.5);
  CHECK(configuration.text_of("threads", "1") == "2");
  CHECK(configuration.text_of("precision", "f32") == "f32");
  CHECK(configuration.text_of("precision").empty());
  CHECK(configuration.integer_of("threads") == 2);
  CHECK(configuration.integer_of("rate") == std::nullopt);
  CHECK(configuration.integer_of("precision") == std::nullopt);
}

TEST_CASE("a number is one where nothing else is written", "[value]") {
  CHECK(parse_number<std::int64_t>("-12") == -12);
  CHECK(parse_number<double>("0.25") == 0.25);
  for (const char* text : {"", "12 ", " 12", "1.5", "12x", "99999999999999999999"})
    CHECK(parse_number<std::int64_t>(text) == std::nullopt);
  CHECK(parse_number<std::size_t>("-1") == std::nullopt);
}

TEST_CASE("an identity exists for text that is no UTF-8", "[configuration]") {
  Configuration odd;
  odd.set("text", std::string("\xff\xfe"));
  CHECK(odd.identity().size() == 32);
}

TEST_CASE("values read as people write them", "[value]") {
  CHECK(to_text(Value(true)) == "true");
  CHECK(to_text(Value(std::int64_t{-3})) == "-3");
  CHECK(to_text(Value(0.25)) == "0.25");
  CHECK(to_text(Value(std::string("g++"))) == "g++");
  CHECK_THROWS_AS(value_from_json(nullptr), std::invalid_argument);
}

TEST_CASE("words and enumerators go both ways", "[names]") {
  for (int i = 0; i <= static_cast<int>(Outcome::Wrong); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    CHECK(outcome_from_text(to_text(outcome)) == outcome);
  }
  CHECK(to_text(Outcome::OutOfMemory) == "out_of_memory");
  CHECK(to_text(Outcome::Wrong) == "wrong");
  CHECK(stage_from_text("compile") == Stage::Compile);
  CHECK(purpose_from_text("gate") == Purpose::Gate);
  CHECK_FALSE(outcome_from_text("fine").has_value());
}

TEST_CASE("the time of N epochs is the sum of its parts", "[objective]") {
  const Parts parts{.import = 1,
                    .data = 2,
                    .compile = 3,
                    .first_step_excess = 4,
                    .epoch_overhead = 0.5,
                    .steps_per_epoch = 10,
                    .steady_step = 0.25};
  CHECK(total_time(parts, 2) == 10 + 2 * (0.5 + 2.5));
}

TEST_CASE("the digest is SHA-256, in pieces too", "[digest]") {
  // FIPS 180-4 example, "abc".
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 pieces;
  pieces.update("a");
  pieces.update("bc");
  CHECK(pieces.finish() == sha256("abc"));
  CHECK(is_sha256(sha256("abc")));
  for (const std::string& other : {sha256("abc").substr(1), sha256("abc") + "0", std::string(64, 'F')})
    CHECK_FALSE(is_sha256(other));
  CHECK(short_digest("abc") == "ba7816bf8f01cfea414140de5dae2223");
}

TEST_CASE("a fingerprint's key changes with what must match and with nothing else", "[fingerprint]") {
  Fingerprint one;
  one.set({"cpu.model", "A", Match::Must, false});
  one.set({"kernel", "6.1", Match::Verify, true});
  one.set({"boot", "x", Match::Ignore, true});
  Fingerprint other;
  other.set({"boot", "y", Match::Ignore, true});
  other.set({"kernel", "6.2", Match::Verify, true});
  other.set({"cpu.model", "A", Match::Must, false});
  CHECK(one.key() == other.key());
  CHECK(one.identity() != other.identity());
  CHECK(one.differences(other) == std::vector<FingerprintDifference>{{"kernel", "6.1", "6.2", Match::Verify}});
  other.set({"cpu.model", "B", Match::Must, false});
  CHECK(one.key() != other.key());
  other.set({"gpu", "H", Match::Must, false});
  CHECK(one.differences(other).size() == 3);
}

TEST_CASE("a fingerprint comes back from its JSON", "[fingerprint]") {
  Fingerprint one;
  one.set({"cpu.model", "A", Match::Must, false});
  one.set({"boot", "x", Match::Ignore, true});
  CHECK(Fingerprint::from_json(one.to_json()) == one);
  CHECK_FALSE(Fingerprint::from_json(nlohmann::json::parse(R"([{"name": "a"}])")).has_value());
  CHECK(Fingerprint::from_json(nlohmann::json::parse(R"([{"name":"a","value":"","match":"maybe","cheap":true}])"))
            .error() == "match is must, verify or ignore, not \"maybe\"");
}

TEST_CASE("brackets are counted where they are open at once, and not within strings", "[nesting]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_FALSE(is_nested_too_deep(nested(kDeepestNesting)));
  CHECK(is_nested_too_deep(nested(kDeepestNesting + 1)));
  std::string flat;
  for (std::size_t i = 0; i < 2 * kDeepestNesting; ++i) flat += "[{}],";
  CHECK_FALSE(is_nested_too_deep(flat));
  CHECK_FALSE(is_nested_too_deep("[\"" + std::string(500, '[') + "\"]"));
  CHECK_FALSE(is_nested_too_deep(R"(["\")" + std::string(500, '{') + "\"]"));
  CHECK(is_nested_too_deep(R"(["\\"])" + std::string(500, '{')));
  CHECK_FALSE(is_nested_too_deep("]]]]"));
  CHECK(bracket_within(R"(["[", {}, [{}]])", 2) == 11);
  CHECK_FALSE(bracket_within(R"(["[", {}, [{}]])", 3));
}

TEST_CASE("counts do not wrap", "[count]") {
  const Count large = Count(~std::uint64_t{0}) * Count(~std::uint64_t{0});
  CHECK(large.to_text() == "340282366920938463426481119284349108225");
  CHECK_FALSE(large.is_saturated());
  CHECK((large * Count(2)).is_saturated());
  CHECK((large + large).is_saturated());
  CHECK((large * Count(2)).to_text() == "more than 3.4e38");
  CHECK(Count(0).to_text() == "0");
  CHECK((Count(0) * large).to_text() == "0");
}

TEST_CASE("the nearest name is near", "[nearest]") {
  const std::vector<std::string> names = {"threads", "batch", "precision", "xla"};
  CHECK(nearest("thraeds", names) == "threads");
  CHECK(nearest("precison", names) == "precision");
  CHECK(nearest("quantum", names).empty());
  CHECK(nearest("abc", names).empty());
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(did_you_mean("bacth", names) == ", did you mean 'batch'?");
}

}  // namespace nocturne::space
