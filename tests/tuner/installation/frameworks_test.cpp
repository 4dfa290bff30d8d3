#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <string>

#include "tests/tuner/installation/source_tree.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/framework_values.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using test::SourceTree;

namespace {

constexpr const char* kTwoFrameworks = R"({
  "campaign": "two",
  "space": {
    "parameters": [
      {"name": "framework", "stage": "environment", "values": ["onednn", "ancient-0.1"]},
      {"name": "batch", "stage": "run", "values": [32, 64]}
    ]EXTRA
  }
})";

std::string with(const std::string& extra) {
  std::string text = kTwoFrameworks;
  return text.replace(text.find("EXTRA"), 5, extra);
}

}  // namespace

TEST_CASE("a framework is a worker of ours or a recipe", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  CHECK(frameworks.names() == std::vector<std::string>{"onednn", "cudnn", "ancient-0.1", "slow-1"});
  CHECK(frameworks.recipe("onednn") == nullptr);
  REQUIRE(frameworks.recipe("slow-1") != nullptr);
  CHECK(frameworks.recipe("slow-1")->worker == "slow_worker.py");
  CHECK(tuner::Frameworks().names() == std::vector<std::string>{"onednn", "cudnn"});
}

TEST_CASE("what this machine cannot have is said with its reason", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  CHECK_THAT(frameworks.obstacle("ancient-0.1"), ContainsSubstring("Python"));
  CHECK(frameworks.obstacle("onednn").empty());
  std::vector<std::string> available = frameworks.available();
  std::erase(available, "cudnn");  // where there is a GPU
  CHECK(available == std::vector<std::string>{"onednn"});
}

TEST_CASE("a folder of temporary files that is gone keeps nobody from looking", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  REQUIRE(::setenv("TMPDIR", "/nonexistent/folder", 1) == 0);
  CHECK_NOTHROW(frameworks.obstacle("ancient-0.1"));
  REQUIRE((before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR")) == 0);
}

TEST_CASE("a framework that cannot be had is left out of the space, and the campaign goes on", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  const auto spec = tuner::parse_campaign(with(""), "two.json", "/", space::Facts(), &frameworks);
  REQUIRE(spec);
  REQUIRE(spec->unavailable.size() == 1);
  CHECK(spec->unavailable.front().name == "ancient-0.1");
  CHECK(spec->space.count().to_text() == "2");
  REQUIRE(spec->space.constraints().size() == 1);
  CHECK(spec->space.constraints()[0].require == "framework != 'ancient-0.1'");
  CHECK_THAT(spec->space.constraints()[0].because, ContainsSubstring("unavailable here: "));
  const auto unavailable = tuner::stored_unavailable(spec->document);
  REQUIRE(unavailable.size() == 1);
  CHECK(unavailable[0].name == "ancient-0.1");
}

TEST_CASE("what a machine can have makes another campaign, other recipes do not", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto identity = [&](const tuner::Frameworks& frameworks) {
    const auto spec = tuner::parse_campaign(with(""), "two.json", "/", space::Facts(), &frameworks);
    REQUIRE(spec);
    return spec->identity();
  };
  const std::string before = identity(tree.frameworks_with_python());
  tree.add_recipe("slow-2", R"("python": ">=3.6")");
  CHECK(identity(tree.frameworks_with_python()) == before);
  tree.add_recipe("ancient-0.1", R"("python": ">=3.6")");  // no Python is in its way any more
  const auto frameworks = tree.frameworks_with_python();
  const auto spec = tuner::parse_campaign(with(""), "two.json", "/", space::Facts(), &frameworks);
  REQUIRE(spec);
  CHECK(spec->unavailable.empty());
  CHECK(spec->identity() != before);
}

TEST_CASE("a default that cannot be had is a problem, and so is an unknown name", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  std::string text = with("");
  const auto at = text.find("\"ancient-0.1\"]");
  text.replace(at, 14, R"("ancient-0.1", "slo-1"], "default": "ancient-0.1")");
  const auto spec = tuner::parse_campaign(text, "two.json", "/", space::Facts(), &frameworks);
  REQUIRE_FALSE(spec);
  const std::string said = tuner::to_text(spec.error());
  CHECK_THAT(said, ContainsSubstring("/space/parameters/0/default: the default 'ancient-0.1' is unavailable here"));
  CHECK_THAT(said, ContainsSubstring("no worker is called \"slo-1\"") && ContainsSubstring("Did you mean 'slow-1'?"));
}

TEST_CASE("constraints know which frameworks there are, here and when the space is opened again",
          "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  const auto spec = tuner::parse_campaign(
      with(R"(, "constraints": [{"require": "framework in machine.frameworks and batch > 32", "because": "so"}])"),
      "two.json", "/", space::Facts(), &frameworks);
  REQUIRE_FALSE(spec);  // the default has batch 32: the constraint is understood
  CHECK_THAT(tuner::to_text(spec.error()), ContainsSubstring("so"));
  const auto good = tuner::parse_campaign(
      with(R"(, "constraints": [{"require": "framework in machine.frameworks", "because": "so"}])"), "two.json", "/",
      space::Facts(), &frameworks);
  REQUIRE(good);
  CHECK(std::get<std::vector<std::string>>(*tuner::stored_facts(good->document).find("machine.frameworks")) ==
        frameworks.available());
}

TEST_CASE("limits of environments and the state of compile caches are read", "[tuner][frameworks]") {
  const SourceTree tree;
  const auto frameworks = tree.frameworks();
  std::string text = with("");
  text.insert(1, R"("environments": {"install": false, "download": "2GB", "disk": "1GiB"},
                    "run": {"compile_cache": "warm"}, )");
  const auto spec = tuner::parse_campaign(text, "two.json", "/", space::Facts(), &frameworks);
  REQUIRE(spec);
  CHECK_FALSE(spec->environments.install);
  CHECK(spec->environments.download_bytes == 2'000'000'000);
  CHECK(spec->environments.disk_bytes == 1 << 30);
  CHECK(spec->run.compile_cache == tuner::CompileCache::Warm);
}

TEST_CASE("framework and source choose a recipe together", "[tuner][frameworks]") {
  const SourceTree tree;
  tree.add_recipe("of-a-hub", R"("kind": "image", "image": "hub", "source": "hub", "framework": "slow-1")");
  const auto frameworks = tree.frameworks_with_python();
  CHECK(frameworks.answering("onednn", "pip") == "onednn");
  CHECK(frameworks.answering("onednn", "opt-build").empty());
  CHECK(frameworks.answering("slow-1", "pip") == "slow-1");
  CHECK(frameworks.answering("slow-1", "hub") == "of-a-hub");
  CHECK(frameworks.answering("slow-1", "distribution").empty());
  CHECK(frameworks.answering("of-a-hub", "hub") == "of-a-hub");
  CHECK(frameworks.answering("of-a-hub", "pip").empty());
  CHECK(frameworks.answered() == std::vector<std::string>{"slow-1"});
}

TEST_CASE("a campaign with a source leaves out what no recipe has from there", "[tuner][frameworks]") {
  const SourceTree tree;
  tree.add_recipe("slow-9", R"("framework": "slow")");
  const auto frameworks = tree.frameworks_with_python();
  CHECK(frameworks.answered() == std::vector<std::string>{"slow"});
  constexpr const char* kSources = R"({
    "campaign": "sources",
    "space": {"parameters": [
      {"name": "framework", "stage": "environment", "values": ["onednn", "slow", "slow-1", "ancient-0.1"]},
      {"name": "source", "stage": "environment", "values": ["pip", "distribution"]}]}})";
  const auto spec = tuner::parse_campaign(kSources, "sources.json", "/", space::Facts(), &frameworks);
  REQUIRE(spec);
  const auto recipe_of = [&](const std::string& framework) {
    space::Configuration configuration;
    configuration.set("framework", framework);
    configuration.set("source", std::string("pip"));
    return tuner::framework_of(spec->worker, configuration);
  };
  CHECK(recipe_of("slow") == "slow-9");
  CHECK(recipe_of("slow-1") == "slow-1");
  CHECK(spec->space.count().approximate == 3);  // of eight: no distribution has any, and ancient-0.1 has no Python
  CHECK(tuner::wanted_frameworks(*spec) == std::vector<std::string>{"onednn", "slow-9", "slow-1"});
  // Whoever reads the stored document asks no machine.
  CHECK(tuner::stored_answers(spec->document).size() == 4);
  space::Configuration stored;
  stored.set("framework", std::string("slow"));
  stored.set("source", std::string("pip"));
  CHECK(tuner::framework_of(tuner::sections_of(spec->document).worker, stored) == "slow-9");
  const auto out = tuner::stored_unavailable(spec->document);
  REQUIRE(out.size() == spec->unavailable.size());
  CHECK(tuner::text_of(out.front()) == "onednn from distribution");
  CHECK(tuner::constraint_against(out.front()).require == "framework != 'onednn' or source not in ['distribution']");

  // Without a source the name of several recipes is none.
  constexpr const char* kFamily = R"({
    "campaign": "family",
    "space": {"parameters": [{"name": "framework", "stage": "environment", "values": ["onednn", "slow"]}]}})";
  CHECK(!tuner::parse_campaign(kFamily, "family.json", "/", space::Facts(), &frameworks));
}
