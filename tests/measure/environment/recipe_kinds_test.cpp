#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>

#include "measure/environment/debian_packages.hpp"
#include "measure/environment/recipe.hpp"
#include "measure/environment/source_build.hpp"
#include "tests/support/temporary_folder.hpp"

// Recipes of other kinds than packages of pip, and what is read of the programs that get them.

namespace nocturne::measure {
namespace {

using nlohmann::json;

std::string problem_with(const json& document) {
  const auto recipe = parse_recipe(document, "x");
  return recipe ? std::string() : recipe.error();
}

json distribution() {
  return json::parse(R"({"source": "distribution", "worker": "pytorch_worker.py", "imports": ["torch"],
    "debian": ["python3-torch", "libblis4-pthread"], "environment": {"LD_LIBRARY_PATH": "{environment}/a:{environment}/b"}})");
}

json opt_build() {
  return json::parse(R"({"kind": "native", "source": "opt-build", "worker": "onednn",
    "build": {"package": "onednn", "suite": "trixie", "cmake": ["-DA=B", "-DCMAKE_CXX_FLAGS=-O3 -march=native"]}})");
}

json image() {
  return json::parse(R"({"kind": "image", "image": "hub-tf", "interpreter": "/usr/local/bin/python3",
    "worker": "tensorflow2_worker.py"})");
}

json command() {
  return json::parse(R"({"kind": "command", "command": {"template": [["/opt/glow/train"]], "time": "steps"}})");
}

}  // namespace

TEST_CASE("recipes of every kind are read", "[environment][recipe]") {
  const auto debian = parse_recipe(distribution(), "x");
  REQUIRE(debian);
  CHECK(debian->debian == std::vector<std::string>{"python3-torch", "libblis4-pthread"});
  CHECK(debian->is_installed());
  CHECK(variables_of(*debian, "/e").at("LD_LIBRARY_PATH") == "/e/a:/e/b");
  const auto library = parse_recipe(opt_build(), "x");
  REQUIRE(library);
  REQUIRE(library->build);
  CHECK(library->build->suite == "trixie");
  CHECK(library->build->cmake.size() == 2);
  CHECK(library->is_installed());
  const auto hub = parse_recipe(image(), "x");
  REQUIRE(hub);
  CHECK(hub->interpreter == "/usr/local/bin/python3");
  CHECK_FALSE(hub->is_installed());
  CHECK(hub->source == "image");
  for (const char* source : {"hub", "opt-build"}) {
    json document = image();
    document.update({{"source", source}, {"framework", "tensorflow"}});
    const auto stated = parse_recipe(document, "x");
    REQUIRE(stated);
    CHECK(stated->source == source);
    CHECK(stated->framework == "tensorflow");
  }
  const auto own = parse_recipe(command(), "x");
  REQUIRE(own);
  CHECK(own->command.at("time") == "steps");
  CHECK_FALSE(own->is_installed());
}

TEST_CASE("keys that do not belong together are refused", "[environment][recipe]") {
  json document = distribution();
  document.erase("debian");
  CHECK(problem_with(document).starts_with("/debian lists the packages of source distribution"));
  document = opt_build();
  document.erase("build");
  CHECK(problem_with(document).contains("belong together"));
  document = opt_build();
  document["kind"] = "python";
  CHECK(problem_with(document).contains("belong together"));
  document["source"] = "hub";
  CHECK(problem_with(document).contains("belong together"));
  document.erase("build");
  CHECK(problem_with(document).starts_with("/source hub is an image's"));
  document = image();
  document["build"] = opt_build()["build"];
  document["source"] = "opt-build";
  CHECK(problem_with(document).contains("belong together"));
  document = image();
  document["framework"] = "a b";
  CHECK(problem_with(document).starts_with("/framework is not a plain name"));
  document = opt_build();
  document.erase("worker");
  CHECK(problem_with(document).starts_with("/worker is missing"));
  document = command();
  document.erase("command");
  CHECK(problem_with(document).starts_with("/command is missing"));
  document = distribution();
  document["needs"] = {{"gpu", "yes"}};
  CHECK(problem_with(document).starts_with("/needs/gpu is not known"));
}

TEST_CASE("no name of a package, an image or a definition can be an option or a path", "[environment][recipe]") {
  for (const char* hostile : {"-x", "--reinstall", "../x", "/etc/passwd", "a b", "a_b", "", "a=1"}) {
    CAPTURE(hostile);
    json document = distribution();
    document["debian"] = json::array({hostile});
    CHECK(problem_with(document).starts_with("/debian/0 is "));
    document = opt_build();
    document["build"]["package"] = hostile;
    CHECK(problem_with(document).starts_with("/build/package is "));
    document = image();
    document["image"] = hostile;
    CHECK((problem_with(document).starts_with("/image is ") || std::string(hostile) == "a_b"));
    CHECK_FALSE(is_debian_name(hostile));
  }
  for (const char* hostile : {"-P", "A=B", "-D", "-DA", "-DA=$(reboot)", "-DA=\"x\"", "-DA=B\n-P"}) {
    CAPTURE(hostile);
    json document = opt_build();
    document["build"]["cmake"] = json::array({hostile});
    CHECK(problem_with(document).starts_with("/build/cmake/0 is "));
  }
  for (const char* hostile : {"python3", "../bin/python3", "/usr/../bin/python3", ""}) {
    CAPTURE(hostile);
    json document = image();
    document["interpreter"] = hostile;
    CHECK(problem_with(document).starts_with("/interpreter is not an absolute path"));
  }
}

TEST_CASE("what apt would install is read, and what it would replace is left alone", "[environment][debian]") {
  const auto packages = packages_to_install(
      "Inst libtorch1.13 (1.13.1+dfsg-4 Debian:12.15/oldstable [amd64])\n"
      "Inst libc6 [2.36-9+deb12u9] (2.36-9+deb12u10 Debian:12.15/oldstable [amd64]) []\n"
      "Inst libswscale6 (7:5.1.9-0+deb12u1 Debian:12.15/oldstable, Debian-Security:12/oldstable-security [amd64])\n"
      "Inst --reboot (1 x)\nInst ../up (1 x)\nInst odd ($(reboot) x)\n"
      "Conf libtorch1.13 (1.13.1+dfsg-4 Debian:12.15/oldstable [amd64])\nRemv thing [1]\nInst");
  CHECK(packages ==
        std::vector<DebianPackage>{{"libtorch1.13", "1.13.1+dfsg-4"}, {"libswscale6", "7:5.1.9-0+deb12u1"}});
  for (const DebianPackage& package : packages) CHECK(package_of_lock(lock_line(package)) == package);
  for (const char* hostile : {"--reboot==1", "a==", "a", "==1", "a==-1", "../a==1", "a==1 b"}) {
    CAPTURE(hostile);
    CHECK_FALSE(package_of_lock(hostile));
  }
}

TEST_CASE("what apt says of its error becomes a sentence", "[environment][debian]") {
  CHECK(explain_apt("E: Unable to locate package python3-torch").contains("no such package"));
  CHECK(explain_apt("E: Failed to fetch http://x  Temporary failure resolving 'x'").contains("cannot be reached"));
  CHECK(explain_apt("E: Failed to fetch http://x/y.deb  404  Not Found [IP: 1.2.3.4 80]").contains("apt-get update"));
  CHECK(explain_apt("E: Unable to correct problems, you have held broken packages.").contains("contradict"));
  CHECK(explain_apt("E: Something new\n") == "apt-get failed: E: Something new");
}

TEST_CASE("the mirror is Debian's own and no security updates", "[environment][debian]") {
  CHECK(debian_mirror("NodeSource https://x/y\nDebian http://security.debian.org/debian-security\n"
                      "Debian http://mirror.example/debian/\nDebian http://other.example/\n") ==
        "http://mirror.example/debian/");
  CHECK(debian_mirror("Debian [trusted=yes] http://x\nDebian file:/x\n").empty());
  CHECK(debian_mirror("").empty());
  CHECK(version_of_dsc("Format: 3.0 (quilt)\nSource: onednn\nVersion: 3.7.2-1\nStandards-Version: 4\n") == "3.7.2-1");
  CHECK(version_of_dsc("Standards-Version: 4\n").empty());
}

TEST_CASE("a package that a source asks for and does not use is found, and is empty", "[environment]") {
  const test::TemporaryFolder folder;
  const auto place = folder.path() / "nothing";
  CHECK(with_empty_package("-DBUILD_TESTS=OFF", place) == "-DBUILD_TESTS=OFF");
  CHECK(with_empty_package("-Da/../../b_DIR={nothing}", place) == "-Da/../../b_DIR={nothing}");
  CHECK_FALSE(std::filesystem::exists(place));
  CHECK(with_empty_package("-Dspdlog_DIR={nothing}", place) == "-Dspdlog_DIR=" + place.string());
  CHECK(std::filesystem::exists(place / "spdlogConfig.cmake"));
}

TEST_CASE("a build that lacks something says what, and how to get it", "[environment]") {
  CHECK(explain_build(
            "configure",
            "-- Could NOT find Doxygen (missing: DOXYGEN_EXECUTABLE)\nCMake Error at CMakeLists.txt:7 (find_package):\n"
            "  Could not find a package configuration file provided by \"spdlog\" with any\n  of the following\n")
            .starts_with(
                "configure needs the development files of spdlog; install them (Debian: the package libspdlog-dev,"));
  CHECK(explain_build("configure",
                      "CMake Error at Find.cmake:230 (message):\n  Could NOT find OpenMP_CXX (missing: x)\n") ==
        "configure needs OpenMP_CXX, and that is not here: install its development files");
  CHECK(explain_build("build", "x.cpp:3:10: fatal error: spdlog/spdlog.h: No such file or directory\nmake: *** 2\n")
            .starts_with("build needs the header spdlog/spdlog.h;"));
  CHECK(explain_build("build", "-- Could NOT find Doxygen (missing: x)\nninja: build stopped\n") ==
        "build fails: ninja: build stopped");
}

}  // namespace nocturne::measure
