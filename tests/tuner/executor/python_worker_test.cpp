#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/executor/source_tree.hpp"
#include "tuner/executor/python_worker.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using test::SourceTree;

TEST_CASE("a worker in Python is its file and what it imports", "[tuner][python_worker]") {
  const SourceTree tree;
  const auto files = tuner::python_worker_files(tree.workers(), "slow_worker.py");
  REQUIRE(files);
  std::vector<std::string> names;
  for (const auto& file : *files) names.push_back(file.lexically_relative(tree.workers()).string());
  CHECK(names == std::vector<std::string>{"lonely.py", "shared/__init__.py", "shared/events.py", "slow_worker.py"});
  CHECK_FALSE(tuner::python_worker_files(tree.workers(), "../python/slow_worker.py"));
  CHECK_THAT(tuner::python_worker_files(tree.workers(), "no_worker.py").error(), ContainsSubstring("no_worker.py"));
}

TEST_CASE("results do not survive a changed worker or environment", "[tuner][python_worker]") {
  const SourceTree tree;
  measure::Environment environment{.key = std::string(64, 'a')};
  const auto digest = [&] {
    return tuner::python_worker_digest(environment, tree.workers(), "slow_worker.py").value();
  };
  const std::string before = digest();
  CHECK(digest() == before);
  SourceTree::write(tree.workers() / "stranger.py", "pass\n");
  CHECK(digest() == before);  // it is not imported
  SourceTree::write(tree.workers() / "shared" / "events.py", "changed = True\n");
  const std::string changed = digest();
  CHECK(changed != before);
  environment.key = std::string(64, 'b');
  CHECK(digest() != changed);
}

TEST_CASE("a recipe's variables yield to the configuration's, the caller's Python has no say",
          "[tuner][python_worker]") {
  const measure::EnvironmentRecipe recipe{.environment = {{"OMP_NUM_THREADS", "1"}, {"PJRT_DEVICE", "CPU"}}};
  const auto launch = tuner::python_launch(recipe, {.set = {{"OMP_NUM_THREADS", "2"}}, .unset = {"KMP_AFFINITY"}});
  CHECK(launch.set.at("OMP_NUM_THREADS") == "2");
  CHECK(launch.set.at("PJRT_DEVICE") == "CPU");
  CHECK(launch.set.at("PYTHONNOUSERSITE") == "1");
  std::map<std::string, std::string> environment = {
      {"PYTHONPATH", "/elsewhere"}, {"PYTHONHOME", "/x"}, {"TF_XLA_FLAGS", "--y"}, {"HOME", "/home"}};
  launch.apply_to(environment);
  CHECK_FALSE(environment.contains("PYTHONPATH"));
  CHECK_FALSE(environment.contains("PYTHONHOME"));
  CHECK_FALSE(environment.contains("TF_XLA_FLAGS"));
  CHECK(environment.at("PJRT_DEVICE") == "CPU");
  CHECK(environment.at("HOME") == "/home");
}
