#include "tuner/roofline/machine_figures.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kDoubt = "2 threads reached 1.00 times what one did";

/// The sample's figures with this maximum of f32 with two threads, doubtful or not.
json figures_with(double most, bool doubtful) {
  json figures = test::sample_figures();
  json& two = figures["measurements"][1];
  REQUIRE(two["name"] == "fma_f32");
  REQUIRE(two["threads"] == 2);
  two["maximum"] = most;
  if (doubtful) two["doubt"] = kDoubt;
  return figures;
}

/// f32 with two threads in such figures.
json two_threads(const json& figures) {
  return figures["measurements"][1];
}

}  // namespace

TEST_CASE("doubtful figures are known by name, each once", "[roofline]") {
  CHECK(tuner::doubted_names(test::sample_figures()).empty());
  json figures = figures_with(100, true);
  figures["measurements"][0]["doubt"] = "one thread is slow";
  figures["measurements"][4]["doubt"] = "no faster";
  CHECK(tuner::doubted_names(figures) == std::vector<std::string>{"fma_f32", "triad_l2"});
  for (const json& wrong : {json(), json::array(), json{{"measurements", 3}}, json{{"measurements", {1, {{"a", 2}}}}}})
    CHECK(tuner::doubted_names(wrong).empty());
}

TEST_CASE("figures from before doubts were noted are looked at once", "[roofline]") {
  json old = figures_with(117, false);
  CHECK(tuner::doubted_names(old) == std::vector<std::string>{"fma_f32"});
  old["measurements"][1]["tries"] = 4;  // measured by a program that would have said so
  CHECK(tuner::doubted_names(old).empty());
  CHECK(tuner::doubted_names(figures_with(131, false)).empty());
  const json again = tuner::with_measured_again(figures_with(117, false), figures_with(118, true));
  CHECK(tuner::doubted_names(again).empty());
  CHECK(two_threads(again)["confirmed"] == true);
}

TEST_CASE("a figure that is higher when it is measured again counts, and its doubt is gone", "[roofline]") {
  const json joined = tuner::with_measured_again(figures_with(100, true), figures_with(199, false));
  CHECK(two_threads(joined)["maximum"] == 199);
  CHECK(two_threads(joined)["tries"] == 2);
  CHECK_FALSE(two_threads(joined).contains("doubt"));
  CHECK_FALSE(two_threads(joined).contains("confirmed"));
  CHECK(joined["measurements"][0]["maximum"] == 100);
}

TEST_CASE("a doubtful figure that comes again is what the machine gives", "[roofline]") {
  const json joined = tuner::with_measured_again(figures_with(100, true), figures_with(95, true));
  CHECK(two_threads(joined)["maximum"] == 100);
  CHECK(two_threads(joined)["confirmed"] == true);
  CHECK_FALSE(two_threads(joined).contains("doubt"));
  CHECK(tuner::doubted_names(joined).empty());
}

TEST_CASE("one that comes lower, or higher and still doubtful, stays doubtful", "[roofline]") {
  const json lower = tuner::with_measured_again(figures_with(100, true), figures_with(60, true));
  CHECK(two_threads(lower)["maximum"] == 100);
  CHECK(two_threads(lower)["doubt"] == kDoubt);
  const json higher = tuner::with_measured_again(figures_with(100, true), figures_with(125, true));
  CHECK(two_threads(higher)["maximum"] == 125);
  CHECK(two_threads(higher)["doubt"] == kDoubt);
}

TEST_CASE("only the same figure is replaced: as many threads, and no latency", "[roofline]") {
  json again = test::sample_figures();
  for (json& each : again["measurements"]) {
    each["threads"] = 7;
    each["maximum"] = 1e6;
  }
  CHECK(tuner::with_measured_again(test::sample_figures(), again) == test::sample_figures());
  for (const json& wrong : {json(), json{{"measurements", "many"}}})
    CHECK(tuner::with_measured_again(test::sample_figures(), wrong) == test::sample_figures());
}

TEST_CASE("measured anew, doubtful figures are settled by those stored before, and only they", "[roofline]") {
  json measured = figures_with(100, true);
  measured["measurements"][0]["maximum"] = 90;  // lower than before, but nobody doubts it
  const json settled = tuner::settled_by_earlier(measured, test::sample_figures());
  CHECK(two_threads(settled)["maximum"] == 200);
  CHECK_FALSE(two_threads(settled).contains("doubt"));
  CHECK(settled["measurements"][0]["maximum"] == 90);
  CHECK(two_threads(tuner::settled_by_earlier(measured, figures_with(102, true)))["confirmed"] == true);
}

TEST_CASE("the doubtful ones alone are measured again, without the disk", "[roofline]") {
  const test::TemporaryFolder folder;
  const fs::path program = folder.path() / "nocturne-machine";
  std::ofstream(folder.path() / "said") << figures_with(199, false).dump();
  std::ofstream(program) << "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" << (folder.path() / "arguments").string()
                         << "'\ncat '" << (folder.path() / "said").string() << "'\n";
  fs::permissions(program, fs::perms::owner_all);
  const tuner::MachineMeasuring measuring{
      .cpus = {0}, .disk = folder.path(), .programs = folder.path(), .slot_folder = folder.path()};

  const json believed = test::sample_figures();
  const auto untouched = tuner::measure_doubted(believed, measuring);
  REQUIRE(untouched);
  CHECK(*untouched == believed);
  CHECK_FALSE(fs::exists(folder.path() / "arguments"));  // nothing was started

  const auto settled = tuner::measure_doubted(figures_with(100, true), measuring);
  REQUIRE(settled);
  CHECK(two_threads(*settled)["maximum"] == 199);
  std::ifstream arguments(folder.path() / "arguments");
  CHECK(std::string(std::istreambuf_iterator<char>(arguments), {}) == "--json\n--seconds\n2\n--only\nfma_f32\n");

  tuner::MachineMeasuring nowhere = measuring;
  nowhere.programs = folder.path() / "nowhere";
  CHECK_THAT(tuner::measure_doubted(figures_with(100, true), nowhere).error(), ContainsSubstring("nocturne-machine"));
}
