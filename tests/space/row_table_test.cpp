#include "space/counting/row_table.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "space/space.hpp"

using namespace nocturne::space;
using Catch::Matchers::ContainsSubstring;

namespace {

/// kernel: linear or poly; degree 2 to 4, of poly alone; c: 1, 10, 100 (in no table); because of stages, c comes first.
std::vector<ParameterSpec> parameters() {
  ParameterSpec kernel{.name = "kernel", .domain = CategoricalSpec{{std::string("linear"), std::string("poly")}}};
  ParameterSpec degree{.name = "degree", .domain = IntegerRangeSpec{.lower = 2, .upper = 4}};
  degree.active_if = "kernel == 'poly'";
  ParameterSpec c{.name = "c",
                  .stage = Stage::Build,
                  .domain = OrdinalSpec{{std::int64_t{1}, std::int64_t{10}, std::int64_t{100}}}};
  return {kernel, degree, c};
}

/// (linear), (poly, 4), (poly, 2); columns not in the order of the parameters.
RowTableSpec rows() {
  return {.parameters = {"degree", "kernel"}, .cells = {kNoValue, 0, 2, 1, 0, 1}, .because = "never recorded"};
}

Space made(const RowTableSpec& table) {
  auto space = Space::create(parameters(), {}, Facts(), &table);
  if (!space) FAIL(space.error().front().to_text());
  return *space;
}

std::string refusal(const RowTableSpec& table, std::vector<ParameterSpec> specs = parameters(),
                    const std::vector<ConstraintSpec>& constraints = {}) {
  const auto space = Space::create(specs, constraints, Facts(), &table);
  REQUIRE_FALSE(space);
  return space.error().front().to_text();
}

}  // namespace

TEST_CASE("a table of rows makes exactly its combinations valid, beside free parameters", "[space]") {
  const auto space = made(rows());
  CHECK(space.count().kind == Size::Kind::Exact);
  CHECK(space.count().count == Count(std::uint64_t{3} * 3));
  CHECK(space.cardinality().count == Count(std::uint64_t{2} * 3 * 3));
  std::vector<std::string> walked;
  space.for_each([&](const Configuration& each) {
    CHECK(space.contains(each));
    walked.push_back(each.canonical());
    return true;
  });
  CHECK(walked == std::vector<std::string>{R"({"c":1,"kernel":"linear"})", R"({"c":1,"degree":2,"kernel":"poly"})",
                                           R"({"c":1,"degree":4,"kernel":"poly"})", R"({"c":10,"kernel":"linear"})",
                                           R"({"c":10,"degree":2,"kernel":"poly"})",
                                           R"({"c":10,"degree":4,"kernel":"poly"})", R"({"c":100,"kernel":"linear"})",
                                           R"({"c":100,"degree":2,"kernel":"poly"})",
                                           R"({"c":100,"degree":4,"kernel":"poly"})"});
  std::set<std::string> numbered;
  for (std::uint64_t i = 0; i < 9; ++i) numbered.insert(space.at(Count(i))->canonical());
  CHECK(numbered == std::set(walked.begin(), walked.end()));
  const Configuration missing({{"c", std::int64_t{1}}, {"degree", std::int64_t{3}}, {"kernel", std::string("poly")}});
  CHECK(space.check(missing) == std::vector<std::string>{"never recorded"});
  CHECK(space.to_json().at("rows").at("count") == 3);
}

TEST_CASE("sampling a table of rows is uniform", "[space]") {
  const auto space = made(rows());
  std::map<std::string, int> seen;
  Random random(3);
  constexpr int kDraws = 9000;
  for (int i = 0; i < kDraws; ++i) ++seen[space.sample(random)->canonical()];
  REQUIRE(seen.size() == 9);
  for (const auto& [text, times] : seen) CHECK(std::abs(times - 1000) < 5 * 30);  // ± sqrt(9000 · 1/9 · 8/9)
}

TEST_CASE("neighbours in a table of rows are rows", "[space]") {
  const auto space = made(rows());
  const Configuration poly({{"c", std::int64_t{1}}, {"degree", std::int64_t{2}}, {"kernel", std::string("poly")}});
  std::set<std::string> all;
  for (const auto& each : space.neighbours(poly, Reach::All)) all.insert(each.canonical());
  CHECK(all == std::set<std::string>{R"({"c":1,"kernel":"linear"})", R"({"c":1,"degree":4,"kernel":"poly"})",
                                     R"({"c":10,"degree":2,"kernel":"poly"})",
                                     R"({"c":100,"degree":2,"kernel":"poly"})"});
  CHECK(space.neighbours(poly, Reach::Adjacent).size() == 2);  // linear and c = 10: degree 3 is no row
}

TEST_CASE("configurations by the numbers of their values are judged alike", "[space]") {
  const auto space = made(rows());
  CHECK(space.admits(std::array<Cell, 3>{0, kNoValue, 2}));
  CHECK(space.admits(std::array<Cell, 3>{1, 0, 2}));
  CHECK_FALSE(space.admits(std::array<Cell, 3>{1, 1, 2}));
  CHECK_FALSE(space.admits(std::array<Cell, 3>{1, kNoValue, 2}));
  CHECK_FALSE(space.admits(std::array<Cell, 3>{0, 0, 2}));
  CHECK_FALSE(space.admits(std::array<Cell, 3>{0, kNoValue, 3}));
}

TEST_CASE("tables of rows that cannot be are refused", "[space]") {
  auto table = rows();
  table.cells[1] = 1;
  CHECK_THAT(refusal(table), ContainsSubstring("/rows/0: 'degree' has no value, and it is active"));
  table = rows();
  table.cells[0] = 0;
  CHECK_THAT(refusal(table), ContainsSubstring("/rows/0: 'degree' has a value, and it is active only if"));
  table = rows();
  table.cells[2] = 3;
  CHECK_THAT(refusal(table), ContainsSubstring("/rows/1: 'degree' has 3 values, none with number 3"));
  table = rows();
  table.cells.pop_back();
  CHECK_THAT(refusal(table), ContainsSubstring("5 cells are no whole rows of 2"));
  table = rows();
  table.cells.clear();
  CHECK_THAT(refusal(table), ContainsSubstring("the table has no rows"));
  table = rows();
  table.parameters[0] = "degre";
  CHECK_THAT(refusal(table), ContainsSubstring("unknown parameter 'degre', did you mean 'degree'?"));
  table = rows();
  table.parameters[0] = "kernel";
  CHECK_THAT(refusal(table), ContainsSubstring("'kernel' stands in the table twice"));
  table = {.parameters = {"kernel"}, .cells = {0, 1}, .because = "never recorded"};
  CHECK_THAT(refusal(table), ContainsSubstring("/parameters/1/active_if: it mentions 'kernel'"));
  CHECK_THAT(refusal(rows(), parameters(), {{.require = "c < 50 or kernel == 'linear'", .because = "x"}}),
             ContainsSubstring("/constraints/0/require: it mentions 'kernel'"));
  table = {.parameters = {"degree", "kernel"}, .cells = {2, 1}, .because = "never recorded"};
  CHECK_THAT(refusal(table), ContainsSubstring("the default configuration is not among them"));
}

TEST_CASE("a table of rows finds ranges and drops repeated rows", "[space]") {
  const RowTable table(2, {3, 1, 1, 2, 3, 1, 1, kNoValue, 1, 0});
  CHECK(table.rows() == 4);
  CHECK(table.narrow({0, 4}, 0, 1) == RowTable::Range{0, 3});
  CHECK(table.narrow({0, 3}, 1, 2) == RowTable::Range{1, 2});
  CHECK(table.narrow({0, 4}, 0, 2).first == table.narrow({0, 4}, 0, 2).second);
  CHECK(table.contains(std::array<Cell, 2>{1, kNoValue}));
  CHECK_FALSE(table.contains(std::array<Cell, 2>{3, 2}));
}
