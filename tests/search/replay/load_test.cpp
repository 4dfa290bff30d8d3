#include "search/replay/load.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "search/replay/space_folder.hpp"
#include "tests/search/replay/files.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using space::Outcome;

namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string result(text);
  const auto at = result.find(what);
  REQUIRE(at != std::string::npos);
  return result.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a published space has its rows, failures, costs and times", "[replay]") {
  const test::Files files;
  const auto recorded = test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)});
  CHECK(recorded.name() == "tiny");
  CHECK(recorded.kind() == "made-up");
  CHECK(recorded.notes().empty());
  CHECK(recorded.optimum() == 2);
  CHECK(recorded.ordered() == std::vector<double>{2, 4, 8, 16});
  const auto& rows = recorded.rows();
  REQUIRE(rows.size() == 5);
  CHECK(rows.outcomes[3] == Outcome::BuildFailed);
  CHECK(std::isnan(rows.objectives[3]));
  CHECK(rows.cost_ms[1] == 50);
  CHECK(std::isnan(rows.cost_ms[2]));
  CHECK(rows.times_of(0).size() == 2);
  CHECK(rows.times_of(2).empty());
  CHECK(recorded.space().constraints().size() == 1);
  for (std::uint32_t row = 0; row < rows.size(); ++row)
    CHECK(recorded.find(recorded.configuration(row)) == search::replay::RecordedSpace::Place{row, 0});
  CHECK_FALSE(recorded.find(space::Configuration({{"a", std::int64_t{4}}, {"b", std::string("y")}})));
}

TEST_CASE("a space that was written is read again as it was", "[replay]") {
  const test::Files files;
  const auto recorded = test::loaded({files.write_space("tiny", test::kTinyDescription, test::kTinyResults)});
  const auto written = search::replay::write_space_folder(recorded);
  CHECK(written.results == search::replay::write_space_folder(recorded).results);
  (void)files.write("again/space.json", written.description);
  (void)files.write("again/results.csv.gz", written.results);
  const auto again = test::loaded({files.path() / "again"});
  CHECK(again.name() == recorded.name());
  CHECK(again.kind() == recorded.kind());
  CHECK(again.space().parameters().size() == recorded.space().parameters().size());
  CHECK(again.rows().cells == recorded.rows().cells);
  CHECK(again.rows().outcomes == recorded.rows().outcomes);
  CHECK(again.rows().times == recorded.rows().times);
  CHECK(again.rows().first_time == recorded.rows().first_time);
  CHECK(again.ordered() == recorded.ordered());
  CHECK(search::replay::write_space_folder(again).results == written.results);
}

TEST_CASE("single times that are no numbers are left out when a space is written", "[replay]") {
  const test::Files files;
  const auto recorded = test::loaded(
      {files.write_space("tiny", test::kTinyDescription, replaced(test::kTinyResults, "7.5;8.5", "7.5;;8.5"))});
  REQUIRE(recorded.rows().times_of(0).size() == 3);
  const auto written = search::replay::write_space_folder(recorded);
  (void)files.write("again/space.json", written.description);
  (void)files.write("again/results.csv.gz", written.results);
  const auto again = test::loaded({files.path() / "again"});
  REQUIRE(again.rows().times_of(0).size() == 2);
  CHECK(again.rows().times_of(0)[1] == 8.5F);
}

TEST_CASE("stage, unit and the sentence of a parameter survive being written", "[replay]") {
  const test::Files files;
  constexpr std::string_view kDescription = R"({"name": "s", "parameters": [
      {"name": "lto", "type": "categorical", "values": [false, true], "stage": "build", "description": "\"quoted\""},
      {"name": "size", "type": "ordinal", "values": [1, 2], "unit": "bytes", "active_if": "lto"}],
      "constraints": ["size != 3"], "constraints_exact": false})";
  const auto recorded = test::loaded({files.write_space(
      "s", kDescription, "lto,size,objective,status\nfalse,,3,ok\ntrue,1,1.25,ok\ntrue,2,,error\n")});
  const auto written = search::replay::write_space_folder(recorded);
  (void)files.write("again/space.json", written.description);
  (void)files.write("again/results.csv.gz", written.results);
  const auto again = test::loaded({files.path() / "again"});
  CHECK(again.space().to_json() == recorded.space().to_json());
  CHECK(again.space().parameters()[0].stage == space::Stage::Build);
  CHECK(again.rows().cells == recorded.rows().cells);
  (void)files.write_space("wrong", replaced(kDescription, "\"build\"", "\"dream\""), "lto,size,objective,status\n");
  const auto wrong = search::replay::load(std::vector{files.path() / "wrong"});
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error(), ContainsSubstring("/parameters/0/stage: found 'dream'"));
}

TEST_CASE("a published space may be gzip, and an integer or conditional", "[replay]") {
  const test::Files files;
  (void)files.write("s/space.json", R"({"name": "s", "parameters": [
      {"name": "kernel", "type": "categorical", "values": ["linear", "poly"]},
      {"name": "degree", "type": "integer", "values": [2, 3], "active_if": "kernel == 'poly'"}],
      "constraints": [], "constraints_exact": true})");
  (void)files.write_gzip("s/results.csv.gz",
                         "kernel,degree,objective,status\nlinear,,3,ok\npoly,2,1,ok\npoly,3,2,ok\n");
  const auto recorded = test::loaded({files.path() / "s"});
  CHECK(recorded.notes().empty());
  CHECK(recorded.space().count().count == space::Count(3));
  CHECK(recorded.space().find("degree")->kind == space::Kind::Integer);
  CHECK(recorded.find(space::Configuration({{"kernel", std::string("linear")}}))->row == 0);
}

TEST_CASE("an integer may end with the largest that there is", "[replay]") {
  const test::Files files;
  const auto recorded =
      test::loaded({files.write_space("s",
                                      R"({"name": "s", "parameters": [
          {"name": "n", "type": "integer", "values": [9223372036854775806, 9223372036854775807]}],
          "constraints": [], "constraints_exact": true})",
                                      "n,objective,status\n9223372036854775806,3,ok\n9223372036854775807,1,ok\n")});
  CHECK(recorded.space().count().count == space::Count(2));
  CHECK(recorded.find(space::Configuration({{"n", std::int64_t{INT64_MAX}}}))->row == 1);
}

TEST_CASE("rows without a complete rule are the space", "[replay]") {
  const test::Files files;
  const auto description =
      replaced(test::kTinyDescription, "\"constraints_exact\": true", "\"constraints_exact\": false");
  const auto recorded = test::loaded({files.write_space("tiny", description, test::kTinyResults)});
  CHECK(recorded.space().count().count == space::Count(5));
  CHECK(recorded.space().constraints().empty());
  CHECK(recorded.notes().empty());
}

TEST_CASE("rows that are not what the constraints allow are said to be so, and taken", "[replay]") {
  const test::Files files;
  const auto fewer = replaced(test::kTinyResults, "1,y,2,ok,50,2\n", "");
  auto recorded = test::loaded({files.write_space("fewer", test::kTinyDescription, fewer)});
  REQUIRE(recorded.notes().size() == 1);
  CHECK_THAT(recorded.notes().front(), ContainsSubstring("allow 5 configurations, and 4 are recorded") &&
                                           ContainsSubstring(R"({"a":1,"b":"y"})"));
  CHECK(recorded.space().count().count == space::Count(4));
  const auto more = std::string(test::kTinyResults) + "4,y,3,ok,,\n";
  recorded = test::loaded({files.write_space("more", test::kTinyDescription, more)});
  REQUIRE(recorded.notes().size() == 1);
  CHECK_THAT(recorded.notes().front(), ContainsSubstring("forbid row 6") && ContainsSubstring("the source requires"));
  CHECK(recorded.space().count().count == space::Count(6));
}

TEST_CASE("a folder of spaces is read by name, and no name stands for two", "[replay]") {
  const test::Files files;
  (void)files.write_space("all/b", replaced(test::kTinyDescription, "tiny", "two"), test::kTinyResults);
  (void)files.write_space("all/a", replaced(test::kTinyDescription, "tiny", "one"), test::kTinyResults);
  const std::vector<std::filesystem::path> paths = {files.path() / "all"};
  const auto spaces = search::replay::load(paths);
  REQUIRE(spaces);
  REQUIRE(spaces->size() == 2);
  CHECK(spaces->front().name() == "one");
  CHECK_THAT(test::refusal({paths[0], paths[0] / "a"}), ContainsSubstring("another space 'one'"));
}

TEST_CASE("a broken published space is refused with file, place and what was found", "[replay]") {
  struct Defect {
    const char* in_description;
    const char* in_results;
    const char* replacement;
    const char* sentence;
  };
  const auto defect =
      GENERATE(Defect{"\"name\": \"tiny\"", nullptr, "\"name\": 7", "space.json: /name: found a JSON number"},
               Defect{"\"kind\"", nullptr, "kind", "space.json:2:19: no JSON: found 'kind"},
               Defect{"\"ordinal\"", nullptr, "\"cardinal\"", "/parameters/0/type: found 'cardinal'"},
               Defect{"[1, 2, 4]", nullptr, "[]", "/parameters/0/values: the list is empty"},
               Defect{"[1, 2, 4]", nullptr, "[1, [2], 4]", "/parameters/0/values/1"},
               Defect{"\"constraints_exact\": true", nullptr, "\"x\": true", "'constraints_exact' is missing"},
               Defect{"a * 10 < limit", nullptr, "__import__('os').system('true')", "__import__"},
               Defect{"a * 10 < limit", nullptr, "a * 10 << limit", "constraints/0"},
               Defect{nullptr, "1,y,2,ok", "1,z,2,ok", "results.csv:3: 'b' is 'z', none of its values"},
               Defect{nullptr, "1,y,2,ok", "3,y,2,ok", "results.csv:3: 'a' is '3'"},
               Defect{nullptr, "1,y,2,ok", "1,x,2,ok", "row 2 has the same configuration as row 1"},
               Defect{nullptr, "1,y,2,ok", "1,y,-2,ok", "objective is '-2'"},
               Defect{nullptr, "1,y,2,ok", "1,y,nan,ok", "objective is 'nan'"},
               Defect{nullptr, "1,y,2,ok", "1,y,inf,ok", "objective is 'inf'"},
               Defect{nullptr, "1,y,2,ok", "1,y,,ok", "objective is ''"},
               Defect{nullptr, "2,y,,compile", "2,y,3,compile", "results.csv:5: it failed, and has the objective '3'"},
               Defect{nullptr, "2,y,,compile", "2,y,,exploded", "status is 'exploded'"},
               Defect{nullptr, "1,y,2,ok,50,2", "1,y,2,ok,50", "results.csv:3: 5 fields, the header has 6"},
               Defect{nullptr, "7.5;8.5", "7.5;?", "times is '?'"},
               Defect{nullptr, "a,b,", "b,a,", "column 1 is 'b', it should be the parameter 'a'"},
               Defect{nullptr, "1,x,8", "\"1,x,8", "results.csv:2"});
  CAPTURE(defect.sentence);
  const test::Files files;
  const auto description = defect.in_description == nullptr
                               ? std::string(test::kTinyDescription)
                               : replaced(test::kTinyDescription, defect.in_description, defect.replacement);
  const auto results = defect.in_results == nullptr
                           ? std::string(test::kTinyResults)
                           : replaced(test::kTinyResults, defect.in_results, defect.replacement);
  CHECK_THAT(test::refusal({files.write_space("tiny", description, results)}), ContainsSubstring(defect.sentence));
}

TEST_CASE("torn, bottomless and empty files are refused", "[replay]") {
  const test::Files files;
  CHECK_THAT(test::refusal({files.path() / "nothing"}), ContainsSubstring("no such file or folder"));
  CHECK_THAT(test::refusal({files.path()}), ContainsSubstring("neither a space"));
  CHECK_THAT(test::refusal({files.write("empty.json", "")}), ContainsSubstring("empty.json:1:1: the JSON ends here"));
  CHECK_THAT(test::refusal({files.write("list.json", "[]")}), ContainsSubstring("none of the known formats"));
  const std::string deep(1'000'000, '[');
  CHECK_THAT(test::refusal({files.write("deep.json", deep)}), ContainsSubstring("deep.json:1:65: brackets are nested"));
  CHECK_THAT(test::refusal({files.write("bytes.json", "{\"cache\": \"\xff\xfe\"}")}),
             ContainsSubstring("bytes.json:1:"));

  (void)files.write("torn/space.json", test::kTinyDescription);
  std::string rows(test::kTinyResults);
  const auto whole = files.write_gzip("whole.gz", rows);
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  (void)files.write("torn/results.csv.gz", std::string_view(bytes).substr(0, bytes.size() / 2));
  CHECK_THAT(test::refusal({files.path() / "torn"}),
             ContainsSubstring("results.csv.gz: it ends in the middle of its gzip data"));
  auto flipped = bytes;
  flipped[flipped.size() / 2] = static_cast<char>(~flipped[flipped.size() / 2]);
  (void)files.write("torn/results.csv.gz", flipped);
  CHECK_THAT(test::refusal({files.path() / "torn"}), ContainsSubstring("results.csv.gz: damaged"));
}
