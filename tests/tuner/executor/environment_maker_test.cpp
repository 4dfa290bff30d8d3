#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/installation/source_tree.hpp"
#include "tuner/executor/environment_maker.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using test::SourceTree;
using tuner::EnvironmentMaker;

namespace {

/// A machine with some Python, which is never started: what is tested comes before.
tuner::PreparationFailure failure_of(const tuner::Frameworks& frameworks, const std::string& name,
                                     EnvironmentMaker::Options options) {
  EnvironmentMaker maker(frameworks, std::move(options));
  const auto made = maker.obtain(*frameworks.recipe(name), {});
  REQUIRE_FALSE(made);
  return made.error();
}

}  // namespace

TEST_CASE("what the machine cannot have, or the campaign's limits forbid, is unsupported with the reason",
          "[tuner][environments]") {
  const SourceTree tree;
  tree.add_recipe("large-1", R"("python": ">=3.6", "download_mb": 700, "disk_mb": 1200)");
  const auto frameworks = tree.frameworks_with_python();
  const auto ancient = failure_of(frameworks, "ancient-0.1", {});
  CHECK(ancient.outcome == space::Outcome::Unsupported);
  CHECK_THAT(ancient.reason, ContainsSubstring("ancient-0.1: ") && ContainsSubstring("Python"));

  const auto off = failure_of(frameworks, "large-1", {.limits = {.install = false}});
  CHECK(off.outcome == space::Outcome::Unsupported);
  CHECK_THAT(off.reason, ContainsSubstring("nocturne env install large-1"));

  const auto download =
      failure_of(frameworks, "large-1", {.limits = {.download_bytes = 1'000'000'000}, .downloaded_bytes = 400'000'000});
  CHECK(download.outcome == space::Outcome::Unsupported);
  CHECK_THAT(download.reason,
             ContainsSubstring("700 MB") && ContainsSubstring("400 MB") && ContainsSubstring("1000 MB"));

  const auto disk = failure_of(frameworks, "large-1", {.limits = {.disk_bytes = 1'000'000'000}, .wanted = {"large-1"}});
  CHECK(disk.outcome == space::Outcome::Unsupported);
  CHECK_THAT(disk.reason, ContainsSubstring("environments.disk"));
}

TEST_CASE("an installation that failed is not tried again in this session", "[tuner][environments]") {
  const SourceTree tree;
  tree.add_recipe("broken-1", R"("python": ">=3.6")");
  const auto frameworks = tree.frameworks_with_python();
  EnvironmentMaker maker(frameworks, {});
  const auto first = maker.obtain(*frameworks.recipe("broken-1"), {});
  REQUIRE_FALSE(first);
  CHECK(first.error().outcome == space::Outcome::BuildFailed);
  std::filesystem::remove_all(tree.environments());
  const auto second = maker.obtain(*frameworks.recipe("broken-1"), {});
  REQUIRE_FALSE(second);
  CHECK(second.error().reason == first.error().reason);
  CHECK_FALSE(std::filesystem::exists(tree.environments() / ".log"));
}

TEST_CASE("an installation without a network is tried again ten minutes later, three times at most",
          "[tuner][environments]") {
  const SourceTree tree;
  tree.add_recipe("far-1", R"("python": ">=3.6")");
  const auto frameworks = tree.frameworks_with_python();
  const std::filesystem::path attempts = tree.environments().parent_path() / "attempts";
  const auto count_attempts = [&] {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(attempts, none);
    return none ? std::uintmax_t{0} : bytes;
  };
  const std::string python = (tree.environments().parent_path() / "python3.8").string();
  SourceTree::write(python, "#!/bin/sh\nif [ \"$3\" = venv ]; then\n  printf x >> '" + attempts.string() +
                                "'\n  echo 'Temporary failure in name resolution'\n  exit 1\nfi\necho '[\"" + python +
                                "\", [3, 8, 1], \"cpython\", \"cpython-38-x86_64-linux-gnu\"]'\n");
  auto now = std::chrono::steady_clock::now();
  EnvironmentMaker maker(frameworks, {.now = [&now] { return now; }});
  const auto ask = [&] {
    const auto made = maker.obtain(*frameworks.recipe("far-1"), {});
    REQUIRE_FALSE(made);
    INFO(made.error().reason);
    CHECK(made.error().unreachable);
    return count_attempts();
  };
  CHECK(ask() == 1);
  now += std::chrono::minutes(9);
  CHECK(ask() == 1);
  for (const std::uintmax_t known : {2U, 3U, 4U}) {
    now += std::chrono::minutes(10);
    CHECK(ask() == known);
    CHECK(ask() == known);
  }
  now += std::chrono::hours(1);
  CHECK(ask() == 4);
}
