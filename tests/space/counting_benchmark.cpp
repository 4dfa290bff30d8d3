// How long it takes to open spaces of 10⁸ and more combinations: nocturne_space_test "[!benchmark]".

#include <fmt/format.h>

#include <catch2/benchmark/catch_benchmark.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/space/build.hpp"

namespace nocturne::space {

using namespace test;

namespace {

/// From the description to the count and the first sample.
double open_space(const std::vector<ParameterSpec>& parameters, const std::vector<ConstraintSpec>& constraints) {
  const auto space = make_space(parameters, constraints);
  Random random(1);
  const auto first = space.sample(random);
  return space.count().approximate + (first ? 1 : 0);
}

std::vector<ParameterSpec> several(int count, std::int64_t upper) {
  std::vector<ParameterSpec> parameters;
  for (int i = 0; i < count; ++i) parameters.push_back(integers(fmt::format("p{}", i), 1, upper));
  return parameters;
}

ParameterSpec sizes(std::string name, std::initializer_list<std::int64_t> values) {
  return ordered(std::move(name), std::vector<Value>(values.begin(), values.end()));
}

}  // namespace

TEST_CASE("spaces are opened", "[!benchmark]") {
  BENCHMARK("10^8, a product of eight: 4 277 736 valid") {
    return open_space(several(8, 10), {require_that("p0 * p1 * p2 * p3 * p4 * p5 * p6 * p7 <= 5000")});
  };
  BENCHMARK("10^8, two residues that share parameters: 1 000 000 valid") {
    return open_space(several(4, 100),
                      {require_that("(p0 + p1 * p2) % 10 == 2"), require_that("(p1 + p3 * p2) % 10 == 2")});
  };
  BENCHMARK("matrix multiplication in OpenCL: 241 600 of 1.7 * 10^6 valid") {
    return open_space(
        {sizes("MWG", {16, 32, 64, 128}), sizes("NWG", {16, 32, 64, 128}), sizes("KWG", {16, 32}),
         sizes("MDIMC", {8, 16, 32}), sizes("NDIMC", {8, 16, 32}), sizes("MDIMA", {8, 16, 32}),
         sizes("NDIMB", {8, 16, 32}), sizes("KWI", {2, 8}), sizes("VWM", {1, 2, 4, 8}), sizes("VWN", {1, 2, 4, 8}),
         sizes("STRM", {0, 1}), sizes("STRN", {0, 1}), sizes("SA", {0, 1}), sizes("SB", {0, 1})},
        {require_that("KWG % KWI == 0"), require_that("MWG % (MDIMC * VWM) == 0"),
         require_that("NWG % (NDIMC * VWN) == 0"), require_that("MWG % (MDIMA * VWM) == 0"),
         require_that("NWG % (NDIMB * VWN) == 0"), require_that("KWG % ((MDIMC * NDIMC) / MDIMA) == 0"),
         require_that("KWG % ((MDIMC * NDIMC) / NDIMB) == 0"), require_that("MDIMC * NDIMC <= 1024"),
         require_that("SA * KWG * MWG + SB * KWG * NWG <= 8192")});
  };
  BENCHMARK("10^15, a window of a sum of fifteen") {
    std::string sum = "p0";
    for (int i = 1; i < 15; ++i) sum += fmt::format(" + p{}", i);
    return open_space(several(15, 10),
                      {require_that("70 <= " + sum + " <= 75 or p0 == 1"), require_that("p0 * p5 <= p9 * p14 + 5")});
  };
  BENCHMARK("10^8, a sum that no two prefixes share, given up: about 10^6 valid") {
    return open_space(
        several(8, 10),
        {require_that("(p0 * 1000003 + p1 * 7368787 + p2 * 1299709 + p3 * 15485863 + p4 * 32452843 + p5 * "
                      "49979687 + p6 * 67867967 + p7 * 86028121) % 100 == 80")});
  };
}

TEST_CASE("expressions are evaluated", "[!benchmark]") {
  const auto space = make_space(several(8, 10), {require_that("p0 * p1 <= 64 and p2 in [1, 2, 4, 8] or p3 > 0")});
  BENCHMARK("a configuration is checked") {
    return space.contains(space.default_configuration());
  };
  Random random(1);
  BENCHMARK("a configuration is drawn") {
    return space.sample(random);
  };
}

}  // namespace nocturne::space
