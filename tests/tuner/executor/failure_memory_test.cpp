#include "tuner/executor/failure_memory.hpp"

#include <chrono>

#include <catch2/catch_test_macros.hpp>

namespace nocturne::test {
namespace {

using space::Outcome;
using tuner::FailureMemory;
using tuner::PreparationFailure;

TEST_CASE("what failed is remembered without its log, what was stopped is not", "[executor]") {
  FailureMemory memory(std::chrono::steady_clock::now);
  CHECK(memory.find("a") == nullptr);
  memory.remember("a", {Outcome::BuildFailed, "no such image", "a long log"});
  REQUIRE(memory.find("a") != nullptr);
  CHECK(memory.find("a")->reason == "no such image");
  CHECK(memory.find("a")->log_tail.empty());
  CHECK(memory.find("b") == nullptr);
  memory.remember("b", {Outcome::Killed, "stopped", {}});
  CHECK(memory.find("b") == nullptr);
  memory.forget("a");
  CHECK(memory.find("a") == nullptr);
}

TEST_CASE("what failed for want of a network is tried again ten minutes later, three times at most", "[executor]") {
  auto now = std::chrono::steady_clock::now();
  FailureMemory memory([&now] { return now; });
  const PreparationFailure gone{.reason = "no such host", .unreachable = true};
  for (int attempt = 0; attempt < 3; ++attempt) {
    memory.remember("a", gone);
    now += std::chrono::minutes(9);
    CHECK(memory.find("a") != nullptr);
    now += std::chrono::minutes(1);
    CHECK(memory.find("a") == nullptr);
  }
  memory.remember("a", gone);
  now += std::chrono::hours(1);
  CHECK(memory.find("a") != nullptr);
}

}  // namespace
}  // namespace nocturne::test
