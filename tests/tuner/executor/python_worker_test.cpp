#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/file_contents.hpp"
#include "tests/tuner/installation/source_tree.hpp"
#include "tuner/campaign_file/parameter_names.hpp"
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
  // Which GPU a process may use its scheduler says, or its part of the machine.
  CHECK(std::ranges::count(launch.unset, "CUDA_VISIBLE_DEVICES") == 0);
  for (const char* name : {"PYTHONPATH", "PYTHONHOME", "TF_XLA_FLAGS"})
    CHECK(std::ranges::count(launch.unset, name) == 1);
  CHECK(std::ranges::count(launch.unset, "PJRT_DEVICE") == 0);
}

// Each worker says in `choices` what of the shared parameters it knows.
TEST_CASE("a campaign may name every parameter that a worker in Python reads", "[tuner][python_worker]") {
  std::set<std::string> read;
  for (const auto& entry : std::filesystem::directory_iterator(NOCTURNE_SOURCE_DIR "/kernels/python")) {
    if (!entry.path().string().ends_with("_worker.py")) continue;
    const std::string text = space::read_file(entry.path()).value();
    const std::size_t begin = text.find("    choices = {");
    INFO(entry.path());
    REQUIRE(begin != std::string::npos);
    const std::string choices = text.substr(begin, text.find('}', begin) - begin);
    const std::regex name("\"([a-z_]+)\": \\(");
    for (std::sregex_iterator found(choices.begin(), choices.end(), name), end; found != end; ++found)
      read.insert((*found)[1]);
  }
  CHECK(read.size() > 8);
  for (const std::string& name : read) {
    INFO(name);
    CHECK(tuner::is_known_parameter(name));
  }
}
