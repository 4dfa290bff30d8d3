#include "search/replay/kernel_tuner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "tests/search/replay/files.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using space::Outcome;

namespace {

constexpr std::string_view kCache = R"({
"kernel_name": "k", "objective": "time",
"tune_params_keys": ["x", "y", "width"],
"tune_params": {"x": [32, 16], "y": [1, 2], "width": [15]},
"cache": {
"16,1,15": {"x": 16, "y": 1, "width": 15, "time": 3.5, "times": [3.0, 4.0], "compile_time": 900, "benchmark_time": 100, "GFLOP/s": NaN},
"16,2,15": {"x": 16, "y": 2, "width": 15, "time": "CompilationFailedConfig"},
"32,1,15": {"x": 32, "y": 1, "width": 15, "time": "RuntimeFailedConfig", "power": -Infinity},
"32,2,15": {"x": 32, "y": 2, "width": 15, "time": 7}}})";

constexpr std::string_view kProblem = R"json({
"General": {"BenchmarkName": "bench"},
"ConfigurationSpace": {
  "TuningParameters": [
    {"Name": "x", "Type": "int", "Values": "[16 * i for i in range(1, 3)]", "Default": 16},
    {"Name": "y", "Type": "int", "Values": "list(range(1, 3))"},
    {"Name": "width", "Type": "int", "Values": "[15]"}],
  "Conditions": [{"Expression": "x * y * width <= 32 * 15", "Parameters": ["x", "y"]}]},
"KernelSpecification": {}})json";

std::string result(int x, int y, const std::string& invalidity, const std::string& value) {
  return R"({"configuration": {"x": )" + std::to_string(x) + R"(, "y": )" + std::to_string(y) +
         R"(, "width": 15}, "invalidity": ")" + invalidity +
         R"(", "correctness": 1, "measurements": [{"name": "GFLOP/s", "value": 1, "unit": ""}, {"name": "time", "value": )" +
         value + R"(, "unit": "ms"}], "objectives": ["time"], "times": {"compilation": 5, "runtimes": [1, 2]}})";
}

std::string results(const std::string& rows) {
  return R"({"schema_version": "1.0.0", "results": [)" + rows + "]}";
}

}  // namespace

TEST_CASE("a cache of Kernel Tuner is a space of its rows", "[replay]") {
  const test::Files files;
  const auto recorded = test::loaded({files.write("convolution.json", kCache)});
  CHECK(recorded.name() == "convolution");
  REQUIRE(recorded.space().parameters().size() == 2);  // width has one value
  CHECK(recorded.space().parameters()[0].name == "x");
  CHECK(recorded.space().parameters()[0].values.front() == space::Value(std::int64_t{16}));
  CHECK(recorded.rows().outcomes == std::vector{Outcome::Ok, Outcome::BuildFailed, Outcome::Crashed, Outcome::Ok});
  CHECK(recorded.rows().cost_ms[0] == 1000);
  CHECK(recorded.rows().times_of(0).size() == 2);
  CHECK(recorded.optimum() == 3.5);
}

TEST_CASE("a cache that was never closed is read, a torn last entry left out", "[replay]") {
  const test::Files files;
  const auto text = std::string(kCache);
  const auto end = text.rfind("}}}");
  CHECK(test::loaded({files.write("open.json", text.substr(0, end + 1) + ",")}).rows().size() == 4);
  CHECK(test::loaded({files.write("bare.json", text.substr(0, end + 1))}).rows().size() == 4);
  CHECK(test::loaded({files.write("torn.json", text.substr(0, end - 10))}).rows().size() == 3);
  CHECK_THAT(test::refusal({files.write("early.json", text.substr(0, text.find("\"cache\"")))}),
             ContainsSubstring("early.json") && ContainsSubstring("before its end"));
}

TEST_CASE("T4 results are a space of their rows, repeated ones counted once", "[replay]") {
  const test::Files files;
  const auto recorded = test::loaded(
      {files.write("r.json", results(result(16, 1, "correct", "3.5") + "," + result(16, 2, "compile", "\"\"") + "," +
                                     result(32, 1, "timeout", "0") + "," + result(16, 1, "correct", "9") + "," +
                                     result(32, 2, "correctness", "1")))});
  CHECK(recorded.rows().outcomes == std::vector{Outcome::Ok, Outcome::BuildFailed, Outcome::Timeout, Outcome::Wrong});
  CHECK(recorded.optimum() == 3.5);
  REQUIRE(recorded.notes().size() == 1);
  CHECK_THAT(recorded.notes().front(), ContainsSubstring("1 rows repeat"));
}

TEST_CASE("a T1 problem takes its rule from its conditions and its rows from its results", "[replay]") {
  const test::Files files;
  const auto problem = files.write("problem.json", kProblem);
  const auto rows =
      result(16, 1, "correct", "3.5") + "," + result(16, 2, "correct", "2") + "," + result(32, 1, "runtime", "0");
  const auto recorded = test::loaded({problem, files.write("results.json", results(rows))});
  CHECK(recorded.name() == "bench");
  CHECK(recorded.notes().empty());
  CHECK(recorded.space().constraints().size() == 1);
  CHECK(recorded.space().count().count == space::Count(3));
  CHECK_THAT(test::refusal({problem}), ContainsSubstring("name the file with its results after it"));
  CHECK_THAT(test::refusal({problem, problem}), ContainsSubstring("neither T4 results nor a cache"));
  const auto cached = test::loaded({problem, files.write("cache.json", kCache)});
  REQUIRE(cached.notes().size() == 1);  // the cache has what the conditions forbid
  CHECK_THAT(cached.notes().front(), ContainsSubstring("forbid row 4"));
}

TEST_CASE("hostile problems and results are refused and never executed", "[replay]") {
  struct Defect {
    const char* what;
    const char* with;
    const char* sentence;
  };
  const auto defect =
      GENERATE(Defect{"[16 * i for i in range(1, 3)]", "range(1000000000)", "a range of 1000000000 values"},
               Defect{"[16 * i for i in range(1, 3)]", "[0 for i in range(10**18)]", "values, more than 10000"},
               Defect{"[16 * i for i in range(1, 3)]", "[0] * 1000000000", "not closed at the end"},
               Defect{"[16 * i for i in range(1, 3)]", "[__import__('os').system('true')]", "unexpected '.'"},
               Defect{"[16 * i for i in range(1, 3)]", "open('x').read()", "not a list, a tuple or a range"},
               Defect{"[16 * i for i in range(1, 3)]", "[[[[[[[[[[[[1]]]]]]]]]]]]", "/TuningParameters/0/Values"},
               Defect{"[16 * i for i in range(1, 3)]", "[2**10000]", "too large"},
               Defect{"[16 * i for i in range(1, 3)]", "[1 / 0]", "division by zero"},
               Defect{"[16 * i for i in range(1, 3)]", "[16, 16]", "stands in the list twice"},
               Defect{"[16 * i for i in range(1, 3)]", "[]", "the list is empty"},
               Defect{"x * y * width <= 32 * 15", "__import__('os').system('true') == 0", "__import__"},
               Defect{"x * y * width <= 32 * 15", "(lambda: 1)() == 1", "constraints/0"},
               Defect{"x * y * width <= 32 * 15", "x.__class__ == 1", "constraints/0"},
               Defect{"\"Name\": \"x\"", "\"Name\": \"while\"", "is missing"});
  CAPTURE(defect.with);
  const test::Files files;
  std::string text(kProblem);
  text.replace(text.find(defect.what), std::string_view(defect.what).size(), defect.with);
  const auto rows = result(16, 1, "correct", "3.5") + "," + result(16, 2, "correct", "2");
  CHECK_THAT(test::refusal({files.write("problem.json", text), files.write("r.json", results(rows))}),
             ContainsSubstring(defect.sentence));
}

TEST_CASE("nonsense in measurements is refused with its place", "[replay]") {
  const test::Files files;
  const auto refused = [&](const std::string& row) { return test::refusal({files.write("r.json", results(row))}); };
  CHECK_THAT(refused(result(16, 1, "correct", "NaN")),
             ContainsSubstring("r.json: /results/0/measurements: the objective is"));
  CHECK_THAT(refused(result(16, 1, "correct", "-1")), ContainsSubstring("the objective is -1"));
  CHECK_THAT(refused(result(16, 1, "maybe", "1")), ContainsSubstring("/results/0/invalidity: found 'maybe'"));
  CHECK_THAT(refused(result(16, 1, "compile", "1")), ContainsSubstring("no row is ok"));
  CHECK_THAT(refused("7"), ContainsSubstring("/results/0: found a JSON number"));
  CHECK_THAT(refused(R"({"configuration": {"x": [1]}, "invalidity": "compile"})"),
             ContainsSubstring("/results/0/configuration/x"));
  std::string cache(kCache);
  cache.replace(cache.find("\"time\": 3.5"), 11, "\"time\": [3]");
  CHECK_THAT(test::refusal({files.write("c.json", cache)}),
             ContainsSubstring("c.json: /cache/16,1,15/time: the objective is [3]"));
  cache = std::string(kCache);
  cache.replace(cache.find("\"objective\": \"time\""), 19, "\"objective\": \"GFLOP/s\"");
  CHECK_THAT(test::refusal({files.write("c.json", cache)}), ContainsSubstring("better when larger"));
}
