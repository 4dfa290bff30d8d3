#include "tuner/cli/upkeep/leftovers.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace nocturne;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

cli::Leftover leftover(const std::string& name, std::int64_t age_hours, std::int64_t bytes,
                       const std::string& kept_because = "") {
  return {.kind = cli::Leftover::Kind::Run,
          .name = name,
          .folder = {},
          .bytes = bytes,
          .used_unix_ns = 100 * kHour - age_hours * kHour,
          .kept_because = kept_because};
}

std::vector<std::string> chosen(const std::vector<cli::Leftover>& all, const cli::UpkeepRule& rule) {
  std::vector<std::string> names;
  for (const cli::Leftover& each : cli::choose_leftovers(all, rule, 100 * kHour)) names.push_back(each.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("what is older than the limit goes, oldest first", "[cli]") {
  const std::vector all = {leftover("young", 1, 10), leftover("old", 30, 10), leftover("older", 40, 10),
                           leftover("kept", 50, 10, "a profile runs it"), leftover("exactly", 24, 10)};
  CHECK(chosen(all, {.older_than = 24h, .max_bytes = {}}) == Names{"older", "old"});
  CHECK(chosen(all, {}).empty());
}

TEST_CASE("the oldest go until the rest fits, and what must stay counts", "[cli]") {
  const std::vector all = {leftover("a", 1, 10), leftover("b", 2, 10), leftover("c", 3, 10),
                           leftover("kept", 4, 25, "tuned")};
  CHECK(chosen(all, {.older_than = {}, .max_bytes = 100}).empty());
  CHECK(chosen(all, {.older_than = {}, .max_bytes = 55}).empty());
  CHECK(chosen(all, {.older_than = {}, .max_bytes = 54}) == Names{"c"});
  CHECK(chosen(all, {.older_than = {}, .max_bytes = 35}) == Names{"c", "b"});
  CHECK(chosen(all, {.older_than = {}, .max_bytes = 0}) == Names{"c", "b", "a"});
  CHECK(chosen(all, {.older_than = 150min, .max_bytes = 45}) == Names{"c"});
}
