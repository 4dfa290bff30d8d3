#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/installation/fake_pythons.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/installation/frameworks.hpp"

using namespace nocturne;
namespace fs = std::filesystem;

namespace {

const fs::path kExampleFiles = fs::path(NOCTURNE_SOURCE_DIR) / "examples";

/// The recipes of this source tree, on a machine that has the Pythons they want.
tuner::Frameworks shipped(const test::FakePythons& pythons) {
  return tuner::Frameworks({.source_root = NOCTURNE_SOURCE_DIR,
                            .environments = pythons.environments(),
                            .pythons = [places = pythons.places()] { return places; }});
}

/// A campaign for GPUs is sound where all that is said of it is that there is none here.
bool only_lacks_gpu(const fs::path& file, const std::vector<tuner::Problem>& problems) {
  return file.stem().string().ends_with("-gpu") && std::ranges::all_of(problems, [](const tuner::Problem& problem) {
           return problem.found.contains("is unavailable here");
         });
}

}  // namespace

TEST_CASE("today's frameworks make a campaign of thousands of configurations", "[campaign_file]") {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks = shipped(pythons);
  const auto modern = tuner::load_campaign(kExampleFiles / "modern-mnist-cpu.json", test::sample_facts(), &frameworks);
  REQUIRE(modern);
  CHECK(modern->unavailable.empty());
  CHECK(modern->space.find("framework")->size() >= 8);
  CHECK(modern->space.count().approximate >= 2000);
  const auto paper = tuner::load_campaign(kExampleFiles / "paper-mnist-cpu.json", test::sample_facts(), &frameworks);
  REQUIRE(paper);
  CHECK(paper->space.find("framework")->size() == 7);
}

TEST_CASE("one campaign asks for framework, source, build, graph compiler and container", "[campaign_file]") {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks = shipped(pythons);
  const auto spec = tuner::load_campaign(kExampleFiles / "deployments-cpu.json", test::sample_facts(), &frameworks);
  REQUIRE(spec);
  const auto recipe_of = [&](const std::string& framework, const std::string& source) {
    space::Configuration configuration;
    configuration.set("framework", framework);
    configuration.set("source", source);
    return tuner::framework_of(spec->worker, configuration);
  };
  CHECK(recipe_of("onednn", "pip") == "onednn");
  CHECK(recipe_of("onednn", "opt-build") == "onednn-opt-build");
  CHECK(recipe_of("pytorch", "pip") == "pytorch-2.15");
  CHECK(recipe_of("pytorch", "distribution") == "debian-pytorch-openblas");
  const space::Configuration defaults = spec->space.default_configuration();
  CHECK(tuner::framework_of(spec->worker, defaults) == "onednn");
  const auto is_valid = [&](const std::string& framework, const std::string& source) {
    space::Configuration configuration = defaults;
    configuration.set("framework", framework);
    configuration.set("source", source);
    return spec->space.check(spec->space.normalise(configuration)).empty();
  };
  CHECK(is_valid("pytorch", "pip"));
  CHECK(is_valid("onednn", "pip"));
  CHECK(!is_valid("tensorflow-2.21", "opt-build"));  // no recipe has it from there
  CHECK(!is_valid("pytorch", "opt-build"));
  const std::vector<std::string> wanted = tuner::wanted_frameworks(*spec);
  CHECK(std::ranges::find(wanted, "pytorch-2.15") != wanted.end());
}

TEST_CASE("every example is a valid campaign", "[campaign_file]") {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks = shipped(pythons);
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(kExampleFiles)) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path());
    const auto loaded = tuner::load_campaign(entry.path(), test::sample_facts(), &frameworks);
    if (!loaded && !only_lacks_gpu(entry.path(), loaded.error())) FAIL_CHECK(tuner::to_text(loaded.error()));
    ++count;
  }
  CHECK(count >= 4);
}

TEST_CASE("the first example's default is what one would run without tuning", "[campaign_file]") {
  const test::FakePythons pythons;
  const tuner::Frameworks frameworks = shipped(pythons);
  const auto spec = tuner::load_campaign(kExampleFiles / "mnist.json", test::sample_facts(), &frameworks);
  REQUIRE(spec);
  CHECK(
      spec->space.default_configuration().canonical() ==
      R"({"affinity":"none","allocator":"glibc","batch":128,"compiler":"g++","fast_math":false,)"
      R"("framework":"onednn","huge_pages":false,"isa_cap":"none","layout":"blocked","lto":false,"march":"x86-64","optimisation":"O3","precision":"f32",)"
      R"("threads":8,"wait_policy":"default"})");
  for (const space::Parameter& parameter : spec->space.parameters()) CHECK(!parameter.description.empty());
}
