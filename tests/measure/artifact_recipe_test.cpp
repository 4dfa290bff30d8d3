#include "measure/artifact/recipe.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {
namespace {

using nlohmann::json;
using space::Configuration;

}  // namespace

TEST_CASE("a recipe is read with its defaults", "[artifact]") {
  const auto recipe = build_recipe_from_json(
      json::parse(R"({"name": "w", "sources": ["a.cpp", "b/../c.cpp"], "include": ["."]})"), "/src");
  REQUIRE(recipe);
  CHECK(recipe->sources == std::vector<std::filesystem::path>{"a.cpp", "c.cpp"});
  CHECK(recipe->standard == "c++20");
  CHECK(recipe->source_root == "/src");
}

TEST_CASE("a recipe that says nonsense is refused with the key", "[artifact]") {
  const auto refusal = [](const char* text) { return build_recipe_from_json(json::parse(text), "/src").error(); };
  CHECK(refusal(R"({"sources": ["a.cpp"]})") == "name must be the file name of the program");
  CHECK(refusal(R"({"name": "../w", "sources": ["a.cpp"]})") == "name must be the file name of the program");
  CHECK(refusal(R"({"name": "w"})") == "sources must name at least one file");
  CHECK(refusal(R"({"name": "w", "sources": ["../a.cpp"]})") ==
        "sources '../a.cpp' must be a path below the source root");
  CHECK(refusal(R"({"name": "w", "sources": ["/a.cpp"]})").contains("below the source root"));
  CHECK(refusal(R"({"name": "w", "sources": "a.cpp"})") == "sources must be an array of strings");
  CHECK(refusal(R"({"name": "w", "sources": ["a.cpp"], "uses": ["magic"]})").contains("'magic' is not known"));
  CHECK(refusal(R"({"name": "w", "sources": ["a.cpp"], "together": 0})") == "together must be 1 or more");
  CHECK(refusal(R"({"name": "w", "sources": ["a.cpp"], "together": "8"})") == "together must be a whole number");
  CHECK(refusal(R"({"name": "w", "sources": ["a.cpp"], "source": 1})") == "unknown key 'source'");
  CHECK(refusal("[]") == "a build recipe is a JSON object");
  CHECK(load_build_recipe("/no/such/file.json", "/").error() == "/no/such/file.json cannot be read");
}

TEST_CASE("build parameters become flags", "[artifact]") {
  const auto flags = build_flags(Configuration({{"compiler", std::string("clang++-19")},
                                                {"optimisation", std::string("O3")},
                                                {"march", std::string("x86-64-v4")},
                                                {"lto", true},
                                                {"fast_math", true},
                                                {"extra_flags", std::string(" -funroll-loops  -fno-plt ")},
                                                {"batch", std::int64_t{128}}}));
  REQUIRE(flags);
  CHECK(compile_arguments(*flags) ==
        std::vector<std::string>{"-O3", "-march=x86-64-v4", "-flto", "-ffast-math", "-funroll-loops", "-fno-plt"});
  CHECK(to_text(*flags) == "clang++-19 -O3 -march=x86-64-v4 -flto -ffast-math -funroll-loops -fno-plt");
  CHECK(to_text(*build_flags(Configuration{})) == "g++ -O3");
}

TEST_CASE("a build parameter with a wrong value is refused in a sentence", "[artifact]") {
  const auto refusal = [](const char* name, space::Value value) {
    return build_flags(Configuration({{name, std::move(value)}})).error();
  };
  CHECK(refusal("optimisation", std::string("O9")) == "optimisation is 'O9'; allowed: O0, O1, O2, O3, Os, Ofast");
  CHECK(refusal("lto", std::string("yes")) == "lto is 'yes'; allowed: true, false");
  CHECK(refusal("march", std::string("native -o /etc/passwd")).starts_with("march is 'native -o"));
  CHECK(refusal("extra_flags", std::string("main.cpp")).starts_with("extra_flags is 'main.cpp'"));
  CHECK(refusal("extra_flags", std::string("-O2 -o/tmp/x")).starts_with("extra_flags is"));
  CHECK(refusal("compiler", true).starts_with("compiler is 'true'"));
}

TEST_CASE("the shipped recipes can be read", "[artifact]") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(NOCTURNE_SOURCE_DIR "/kernels")) {
    if (entry.path().filename() != "build.json") continue;
    const auto recipe = load_build_recipe(entry.path(), NOCTURNE_SOURCE_DIR);
    CAPTURE(entry.path());
    REQUIRE(recipe);
    for (const auto& source : recipe->sources) CHECK(std::filesystem::is_regular_file(recipe->source_root / source));
  }
}

}  // namespace nocturne::measure
