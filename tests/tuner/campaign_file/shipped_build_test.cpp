#include "tuner/campaign_file/shipped_build.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

using namespace nocturne;
using namespace nocturne::tuner;
using Catch::Matchers::ContainsSubstring;

namespace {

space::Facts facts_with(const std::vector<std::string>& compilers) {
  space::Facts facts = test::sample_facts();
  facts.set("machine.compilers", compilers);
  facts.set("machine.can_build", false);
  return facts;
}

std::expected<CampaignSpec, std::vector<Problem>> read(const std::string& march, const std::string& worker,
                                                       const space::Facts& facts) {
  return parse_campaign(
      R"({"campaign": "c", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "space": {"parameters": [
      {"name": "compiler", "stage": "build", "values": ["g++", "clang++-19"], "default": "clang++-19"},
      {"name": "march", "stage": "build", "values": )" +
          march +
          R"(},
      {"name": "lto", "stage": "build", "type": "boolean", "default": true},
      {"name": "batch", "stage": "run", "values": [32, 64]}],
     "constraints": [{"require": "compiler in machine.compilers", "because": "it is not installed"}]})" +
          worker + "}",
      "c.json", "/", facts);
}

constexpr const char* kMarches = R"(["native", "x86-64"])";

}  // namespace

TEST_CASE("without a compiler build parameters stay at what the program that came along has", "[campaign_file]") {
  const auto spec = read(kMarches, "", facts_with({}));
  if (!spec) FAIL(to_text(spec.error()));
  CHECK(spec->shipped_build ==
        "no compiler with the worker's headers here: the worker that came along is used as it is; these parameters "
        "stay at: compiler=g++, march=x86-64, lto=false");
  space::Configuration chosen = spec->space.default_configuration();
  CHECK(chosen.canonical() == R"({"batch":32,"compiler":"g++","lto":false,"march":"x86-64"})");
  chosen.set("batch", std::int64_t{64});
  CHECK(spec->space.check(chosen).empty());
  chosen.set("march", std::string("native"));
  REQUIRE(spec->space.check(chosen).size() == 1);
  CHECK_THAT(spec->space.check(chosen)[0], ContainsSubstring("no compiler with the worker's headers here"));
}

TEST_CASE("without the worker's headers it is the same, whichever compilers there are", "[campaign_file]") {
  const auto spec = read(kMarches, "", facts_with({"clang++-19"}));
  if (!spec) FAIL(to_text(spec.error()));
  CHECK(spec->space.default_configuration().canonical() ==
        R"({"batch":32,"compiler":"g++","lto":false,"march":"x86-64"})");
}

TEST_CASE("with a compiler, or for a program of the user's own, build parameters vary as the file says",
          "[campaign_file]") {
  const auto here = read(kMarches, "", test::sample_facts());
  const auto own = read(kMarches, R"(, "worker": {"command": ["/bin/true"]})", facts_with({"clang++-19"}));
  for (const auto* spec : {&here, &own}) {
    if (!*spec) FAIL(to_text(spec->error()));
    CHECK((*spec)->shipped_build.empty());
    CHECK((*spec)->space.default_configuration().canonical() ==
          R"({"batch":32,"compiler":"clang++-19","lto":true,"march":"native"})");
  }
  // Of what builds a program of the user's own nobody here knows.
  CHECK_FALSE(read(kMarches, R"(, "worker": {"command": ["/bin/true"]})", facts_with({})));
}

TEST_CASE("a campaign whose builds none of which came along is refused before its first trial", "[campaign_file]") {
  const auto spec = read(R"(["native", "x86-64-v3"])", "", facts_with({}));
  REQUIRE_FALSE(spec);
  CHECK_THAT(to_text(spec.error()), ContainsSubstring("/space/parameters/1") &&
                                        ContainsSubstring("no compiler with the worker's headers here") &&
                                        ContainsSubstring("'march' is 'x86-64'"));
}
