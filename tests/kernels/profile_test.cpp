#include "kernels/onednn/profile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>

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

}  // namespace nocturne::onednn
