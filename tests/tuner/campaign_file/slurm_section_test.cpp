#include "tuner/campaign_file/slurm_section.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign_file/sample_file.hpp"
#include "tuner/schema/campaign_schema.hpp"

using namespace nocturne;
using namespace nocturne::test;

namespace {

std::string good_on(const std::string& slurm) {
  return good_with("\"verify\"", "\"executor\": {\"slurm\": " + slurm + "}, \"verify\"");
}

/// What the schema of campaign files says of the section.
nlohmann::json slurm_schema() {
  return nlohmann::json::parse(tuner::campaign_schema())
      .at("/properties/executor/properties/slurm/properties"_json_pointer);
}

}  // namespace

TEST_CASE("a campaign file can ask for a job, which makes it no other campaign", "[campaign_file][slurm]") {
  const auto alone = good(kGood);
  CHECK_FALSE(tuner::slurm_request(alone.document));
  const auto spec = good(good_on(
      R"({"nodes": 8, "partition": "cpu", "account": "p7", "qos": "night", "constraint": "avx512&ib",
          "exclude": "n[7-9]", "gres": "gpu:1", "time": "08:00:00", "cluster": "hill"})"));
  CHECK(spec.identity() == alone.identity());
  const auto request = tuner::slurm_request(spec.document);
  REQUIRE(request);
  CHECK(request->nodes == 8);
  CHECK(request->partition == "cpu");
  CHECK(request->account == "p7");
  CHECK(request->qos == "night");
  CHECK(request->constraint == "avx512&ib");
  CHECK(request->exclude == "n[7-9]");
  CHECK(request->gres == "gpu:1");
  CHECK(request->time == "08:00:00");
  CHECK(request->cluster == "hill");
  const auto empty = tuner::slurm_request(good(good_on("{}")).document);
  REQUIRE(empty);
  CHECK_FALSE(empty->nodes);
  CHECK(empty->partition.empty());
}

TEST_CASE("all that is wrong with what is asked of Slurm is said at once", "[campaign_file][slurm]") {
  const auto all = problems(good_on(R"({"nodes": "8", "partition": "a b", "time": "00:00:00", "acount": "x"})"));
  std::set<std::string> pointers;
  for (const tuner::Problem& each : all) pointers.insert(each.pointer);
  CHECK(pointers == std::set<std::string>{"/executor/slurm/nodes", "/executor/slurm/partition", "/executor/slurm/time",
                                          "/executor/slurm/acount"});
}

TEST_CASE("the schema knows the keys that are options, and no others", "[campaign_file][slurm]") {
  const auto schema = slurm_schema();
  CHECK(schema.size() == tuner::slurm_keys().size());
  for (const tuner::SlurmKey& key : tuner::slurm_keys()) {
    CAPTURE(key.name);
    REQUIRE(schema.contains(std::string(key.name)));
    const auto& described = schema.at(std::string(key.name));
    if (key.placeholder.contains('|'))
      CHECK(fmt::format("{}", fmt::join(described.at("enum").get<std::vector<std::string>>(), "|")) == key.placeholder);
    else
      CHECK(described.at("type") == (key.text == nullptr ? "integer" : "string"));
    if (key.passed_on) CHECK(described.at("pattern") == schema.at("partition").at("pattern"));
  }
}

TEST_CASE("a file and an option take the same words", "[campaign_file][slurm]") {
  CHECK(tuner::is_slurm_word("[rack1|rack2]&avx512"));
  for (const std::string wrong : {"", "a b", "a\n#SBATCH --uid=0", "\"x\"", "a;b", "$(x)", "a#b"})
    CHECK_FALSE(tuner::is_slurm_word(wrong));
  for (char c = ' '; c <= '~'; ++c) {
    const std::string word = std::string("a") + c;
    CAPTURE(word);
    const nlohmann::json section = {{"partition", word}};
    CHECK(parse(good_on(section.dump())).has_value() == tuner::is_slurm_word(word));
  }
}

TEST_CASE("times of jobs are Slurm's or ours, in a file and as an option", "[campaign_file][slurm]") {
  using std::chrono::seconds;
  CHECK(tuner::parse_job_time("08:00:00") == seconds(8 * 3600));
  CHECK(tuner::parse_job_time("100:00:01") == seconds(360'001));
  CHECK(tuner::parse_job_time("90min") == seconds(5400));
  for (const std::string time : {"08:00:00", "8:0:0", "90min", "1h 30min", "", "8", "1:60:00", "1:00", "00:00:00",
                                 "1:2:3:4", "a:b:c", "-1:00:00", ":::", "1:00005:00", "123456:00:00"}) {
    CAPTURE(time);
    const nlohmann::json section = {{"time", time}};
    CHECK(parse(good_on(section.dump())).has_value() == tuner::parse_job_time(time).has_value());
  }
  CHECK_FALSE(tuner::parse_job_time("1:60:00"));
}
