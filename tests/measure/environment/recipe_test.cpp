#include "measure/environment/recipe.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "measure/environment/requirement.hpp"

namespace nocturne::measure {
namespace {

using nlohmann::json;

json good_recipe() {
  return json::parse(R"({
    "recipe": "pytorch-1.4", "title": "PyTorch 1.4", "kind": "python", "worker": "pytorch_worker.py",
    "python": ">=3.6,<3.8", "source": "pip", "packages": [["torch==1.4.0", "numpy<1.20"], ["pillow<7"]],
    "no_dependencies": [true], "fix_ups": ["cuda_stand_ins"], "imports": ["torch", "torch.nn"],
    "graph_compilers": ["none", "torchscript"],
    "needs": {"commands": ["g++"], "isa": ["avx2"]}, "environment": {"PJRT_DEVICE": "CPU"},
    "licence": "BSD-3-Clause", "download_mb": 740, "disk_mb": 1430, "note": "old"})");
}

std::string problem_of(const json& document, const std::string& name = "pytorch-1.4") {
  const auto recipe = parse_recipe(document, name);
  return recipe ? std::string() : recipe.error();
}

}  // namespace

TEST_CASE("a recipe is read whole", "[environment][recipe]") {
  const auto recipe = parse_recipe(good_recipe(), "pytorch-1.4");
  REQUIRE(recipe);
  CHECK(recipe->title == "PyTorch 1.4");
  CHECK(recipe->kind == RecipeKind::Python);
  CHECK(recipe->worker == "pytorch_worker.py");
  CHECK(recipe->python == ">=3.6,<3.8");
  REQUIRE(recipe->steps.size() == 2);
  CHECK(recipe->steps[0].packages == std::vector<std::string>{"torch==1.4.0", "numpy<1.20"});
  CHECK(recipe->steps[0].no_dependencies);
  CHECK_FALSE(recipe->steps[1].no_dependencies);
  CHECK(recipe->fix_ups == std::vector<std::string>{"cuda_stand_ins"});
  CHECK(recipe->imports == std::vector<std::string>{"torch", "torch.nn"});
  CHECK(recipe->graph_compilers == std::vector<std::string>{"none", "torchscript"});
  CHECK(recipe->needed_commands == std::vector<std::string>{"g++"});
  CHECK(recipe->needed_isa == std::vector<std::string>{"avx2"});
  CHECK(recipe->environment.at("PJRT_DEVICE") == "CPU");
  CHECK(recipe->download_bytes == 740'000'000);
  CHECK(recipe->disk_bytes == 1'430'000'000);
  CHECK(recipe->document == good_recipe());
}

TEST_CASE("what is wrong with a recipe is said with its place", "[environment][recipe]") {
  json document = good_recipe();
  SECTION("another name than the file's") {
    CHECK(problem_of(document, "pytorch-1.5").starts_with("/recipe is 'pytorch-1.4'"));
  }
  SECTION("a misspelt key") {
    document["licenze"] = "MIT";
    CHECK(problem_of(document) == "/licenze is not known, did you mean 'licence'?");
  }
  SECTION("a kind that is not there") {
    document["kind"] = "conda";
    CHECK(problem_of(document) == "/kind is 'conda'; allowed: python, native, command, image");
  }
  SECTION("a version specifier that is none") {
    document["python"] = ">=3.6,3.8";
    CHECK(problem_of(document).starts_with("/python '3.8' is no comparison"));
  }
  SECTION("packages that are no list of lists") {
    document["packages"] = json::array({"torch"});
    CHECK(problem_of(document).starts_with("/packages/0 is \"torch\", not an array"));
  }
  SECTION("nothing to install") {
    document.erase("packages");
    document.erase("no_dependencies");
    CHECK(problem_of(document).starts_with("/packages is missing"));
  }
  SECTION("graph compilers that are no names") {
    document["graph_compilers"] = json::array({"none", "--xla"});
    CHECK(problem_of(document).starts_with("/graph_compilers/1 is \"--xla\", not"));
  }
  SECTION("a size that is none") {
    document["disk_mb"] = -3;
    CHECK(problem_of(document).starts_with("/disk_mb is -3"));
  }
  SECTION("more flags than steps") {
    document["no_dependencies"] = json::array({true, false, true});
    CHECK(problem_of(document).starts_with("/no_dependencies"));
  }
}

TEST_CASE("names that look like options or paths upwards are refused", "[environment][recipe]") {
  for (const char* hostile : {"", "-x", "--help", "../up", "a/b", ".hidden", "a b", "a\nb"}) {
    INFO(hostile);
    json document = good_recipe();
    document.erase("recipe");
    CHECK_FALSE(parse_recipe(document, hostile));
    for (const char* list : {"fix_ups", "imports"}) {
      document = good_recipe();
      document[list] = json::array({hostile});
      CHECK(problem_of(document).starts_with(std::string("/") + list + "/0 is "));
    }
    document = good_recipe();
    document["worker"] = std::string(hostile) + ".py";
    CHECK(problem_of(document).starts_with("/worker is "));
    document = good_recipe();
    document["needs"]["commands"] = json::array({hostile});
    CHECK(problem_of(document).starts_with("/needs/commands/0 is "));
  }
  json document = good_recipe();
  document["environment"] = json::object({{"A=B", "1"}});
  CHECK(problem_of(document).starts_with("/environment/A=B is no name"));
  document = good_recipe();
  document["fix_ups"] = json::array({"_shared_library"});
  CHECK(problem_of(document).starts_with("/fix_ups/0 is "));
}

TEST_CASE("only plain requirements are packages", "[environment][recipe]") {
  for (const char* plain : {"torch", "torch==1.4.0", "numpy>=1.16,<1.20", "jax[cpu]", "ruamel.yaml", "a[b,c]~=2.0",
                            "x==1.0.post1", "x==1!2.0+local", "x!=1.*", "typing_extensions"}) {
    INFO(plain);
    CHECK(is_plain_requirement(plain));
  }
  for (const char* other : {"",
                            "-r",
                            "--index-url=x",
                            "./torch",
                            "../x",
                            "/etc/x",
                            "a/b",
                            "torch @ file:///x",
                            "http://x",
                            "git+https://x",
                            "torch ==1",
                            "torch==1;python_version<'3'",
                            "torch==",
                            "torch,",
                            "torch==1,",
                            "a[",
                            "a[]",
                            "a[b",
                            "torch=1",
                            "torch==-1",
                            "-e.",
                            "x.whl/..",
                            "$(id)",
                            "a\n",
                            "torch==1 --pre",
                            "_x",
                            "x-"}) {
    INFO(other);
    CHECK_FALSE(is_plain_requirement(other));
    json document = good_recipe();
    document["packages"] = json::array({json::array({other})});
    document.erase("no_dependencies");
    CHECK(problem_of(document).starts_with("/packages/0/0 is "));
  }
  CHECK(package_of("Ruamel._yaml[x]>=1") == "ruamel-yaml");
}

TEST_CASE("a command's recipe may say more, a native one needs no worker", "[environment][recipe]") {
  CHECK(parse_recipe(json::parse(R"({"kind": "command", "command": {"template": ["./train"], "time": "steps"}})"),
                     "mine"));
  CHECK(parse_recipe(json::parse(R"({"kind": "native"})"), "onednn"));
  CHECK_FALSE(parse_recipe(json::parse(R"({"kind": "native", "command": []})"), "onednn"));
  CHECK_FALSE(parse_recipe(json::parse("[1]"), "x"));
}

}  // namespace nocturne::measure
