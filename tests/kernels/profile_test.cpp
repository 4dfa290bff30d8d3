#include "kernels/onednn/profile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <sstream>
#include <string>

namespace nocturne::onednn {
namespace {

using Catch::Matchers::ContainsSubstring;

OperationTime convolution(const std::string& layer) {
  OperationTime operation;
  operation.name = layer + " forward";
  operation.group = "convolution forward";
  operation.implementation = "jit:some";
  operation.flops = 500'000'000;
  return operation;
}

}  // namespace

TEST_CASE("a profile keeps minimum and mean, and says rates and shares of the peak", "[onednn]") {
  Profile profile;
  profile.add(convolution("conv1"), 5'000'000);
  profile.add(convolution("conv1"), 7'000'000);
  profile.add(convolution("conv2"), 5'000'000);
  profile.add_own("(update)", 1'000'000);
  REQUIRE(profile.operations().size() == 3);
  CHECK(profile.operations()[0].calls == 2);
  CHECK(profile.operations()[0].min_ns == 5'000'000);
  CHECK(profile.operations()[0].total_ns == 12'000'000);

  std::ostringstream out;
  print_profile(profile, 200, out);
  CHECK_THAT(out.str(), ContainsSubstring("conv1 forward"));
  CHECK_THAT(out.str(), ContainsSubstring("5.000     6.000   45.45     100.0     50.0  jit:some"));
  CHECK_THAT(out.str(), ContainsSubstring("10.000    11.000   90.91     100.0     50.0"));  // both together

  std::ostringstream without;
  print_profile(profile, 0, without);
  CHECK_THAT(without.str(), !ContainsSubstring("peak"));
}

TEST_CASE("layers stand in the network's order with their passes apart, and add up to the step", "[onednn]") {
  Profile profile;
  const auto add = [&](const char* layer, std::int64_t row, Part part, const char* what, std::int64_t microseconds) {
    OperationTime operation;
    operation.layer = layer;
    operation.name = std::string(layer) + " " + what;
    operation.row = row;
    operation.part = part;
    operation.implementation = part == Part::Backward ? "jit:back" : "jit:b";
    if (row == 0) operation.flops = 500'000'000;
    profile.add(operation, 1000 * microseconds);
  };
  add("norm1", 1, Part::Forward, "forward", 1500);
  add("conv1", 0, Part::Backward, "backward data", 3000);
  add("conv1", 0, Part::Backward, "backward weights", 3000);
  add("conv1", 0, Part::Forward, "forward", 4000);
  profile.add_own("(update)", 500'000);
  profile.add_step(12'500'000);

  std::ostringstream out;
  print_profile(profile, 300, out);
  const std::string text = out.str();
  CHECK_THAT(text, ContainsSubstring("4.000     6.000    10.000   80.00     150.0     50.0  jit:back, jit:b\n"));
  CHECK_THAT(text, ContainsSubstring("5.500     6.000    12.000   96.00     125.0     41.7"));  // the sum
  CHECK_THAT(text, ContainsSubstring("A step took 12.500 ms in the mean of 1; these are 96.0 % of it."));
  const std::string layers = text.substr(text.find("layer, means"));
  CHECK(layers.find("conv1") < layers.find("norm1"));
  CHECK(layers.find("norm1") < layers.find("(update)"));
}

TEST_CASE("where nothing was profiled, that is said, and no figures", "[onednn]") {
  std::ostringstream out;
  print_profile(Profile(), 200, out);
  CHECK(out.str() == "No step was profiled.\n");
}

}  // namespace nocturne::onednn
