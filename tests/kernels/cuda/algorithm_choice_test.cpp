#include "kernels/cuda/plan/algorithm_choice.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::cuda {
namespace {

// In cuDNN's order; the second is the fastest and needs much, the third cannot be used.
const std::vector<Candidate> kCandidates = {{.algorithm = 5, .usable = true, .ms = 2.0, .workspace_bytes = 100},
                                            {.algorithm = 7, .usable = true, .ms = 0.5, .workspace_bytes = 5000},
                                            {.algorithm = 2, .usable = false, .ms = 0.1, .workspace_bytes = 0},
                                            {.algorithm = 1, .usable = true, .ms = 1.0, .workspace_bytes = 10},
                                            {.algorithm = 0, .usable = true, .ms = -1, .workspace_bytes = 0}};

int chosen(Algorithm how, std::int64_t limit) {
  const auto choice = choose(kCandidates, how, limit);
  return choice ? choice->algorithm : -1;
}

}  // namespace

TEST_CASE("the heuristic's first algorithm is taken, as far as its workspace is allowed", "[cuda]") {
  CHECK(chosen(Algorithm::Heuristic, 1000) == 5);
  CHECK(chosen(Algorithm::Heuristic, 99) == 1);
  CHECK(chosen(Algorithm::Heuristic, 0) == 0);
}

TEST_CASE("the fastest measured algorithm is taken, never one that was not measured", "[cuda]") {
  CHECK(chosen(Algorithm::Find, 10000) == 7);
  CHECK(chosen(Algorithm::Find, 4999) == 1);
  CHECK(chosen(Algorithm::Find, 5) == -1);
}

TEST_CASE("the fixed algorithm is the same whatever the order and the times", "[cuda]") {
  CHECK(chosen(Algorithm::Fixed, 10000) == 1);
  CHECK(chosen(Algorithm::Fixed, 9) == 0);
  CHECK_FALSE(choose({{.algorithm = 6, .usable = true, .ms = 1, .workspace_bytes = 0}}, Algorithm::Fixed, 9));
}

TEST_CASE("what cuDNN cannot do is never taken", "[cuda]") {
  for (const Algorithm how : {Algorithm::Heuristic, Algorithm::Find, Algorithm::Fixed}) {
    CHECK_FALSE(choose({{.algorithm = 1, .usable = false, .ms = 1, .workspace_bytes = 0}}, how, 1000));
    CHECK_FALSE(choose({}, how, 1000));
  }
}

TEST_CASE("algorithms have the names of cuDNN's numbers", "[cuda]") {
  CHECK(algorithm_name(Operation::Forward, 1) == "implicit_precomp_gemm");
  CHECK(algorithm_name(Operation::BackwardData, 4) == "winograd");
  CHECK(algorithm_name(Operation::BackwardWeights, 3) == "implicit_gemm_workspace");
  CHECK(algorithm_name(Operation::BackwardWeights, 9) == "algorithm 9");
}

}  // namespace nocturne::cuda
