#include "measure/environment/python_finder.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

/// A program that answers as a Python would.
void write_python(const fs::path& program, const std::string& answer) {
  fs::create_directories(program.parent_path());
  std::ofstream(program) << "#!/bin/sh\necho '" << answer << "'\n";
  fs::permissions(program, fs::perms::owner_all);
}

std::string answer_of(const fs::path& program, const std::string& version, const std::string& abi) {
  return R"([")" + program.string() + R"(", [)" + version + R"(], "cpython", ")" + abi + R"("])";
}

PythonInterpreter python_of(int minor, int patch) {
  return {.program = "/usr/bin/python3", .version = {.major = 3, .minor = minor, .patch = patch}, .abi = {}};
}

}  // namespace

TEST_CASE("versions are compared as far as they are written", "[environment][python]") {
  const PythonVersion version{.major = 3, .minor = 7, .patch = 16};
  for (const char* yes :
       {"", "==3.7", "==3", ">=3.6,<3.8", ">=3.7", "<=3.7", "==3.7.16", "<3.8", "!=3.6", " >=3.6 , <4", ">3.6"}) {
    INFO(yes);
    CHECK(satisfies(version, yes) == true);
  }
  for (const char* no : {"==3.6", "<3.7", ">3.7", ">=3.8", "<=3.6", "==3.7.15", "!=3.7", ">=3.6,<3.7", "==2"}) {
    INFO(no);
    CHECK(satisfies(version, no) == false);
  }
  for (const char* wrong : {"3.7", "~=3.7", "==3.x", "==", "==3.7.1.2", ",", "==-3", ">=3.6,"}) {
    INFO(wrong);
    const auto result = satisfies(version, wrong);
    if (std::string_view(wrong) == ">=3.6,")
      CHECK(result == true);  // a comma at the end is forgiven
    else
      CHECK_FALSE(result);
  }
  CHECK(satisfies({.major = 3, .minor = 10}, ">=3.9") == true);  // as numbers, not as text
}

TEST_CASE("the newest Python that satisfies is chosen, else the sentence says how to get one",
          "[environment][python]") {
  const std::vector<PythonInterpreter> pythons = {python_of(13, 0), python_of(7, 16), python_of(7, 3),
                                                  python_of(6, 15)};
  CHECK(choose_python(pythons, ">=3.6,<3.8")->version == python_of(7, 16).version);
  CHECK(choose_python(pythons, "")->version == python_of(13, 0).version);
  const auto none = choose_python(pythons, "==3.9");
  REQUIRE_FALSE(none);
  CHECK(none.error().starts_with("needs Python ==3.9; this machine has 3.13.0, 3.7.16, 3.7.3, 3.6.15."));
  CHECK(none.error().contains("pyenv install"));
  CHECK(choose_python({}, "==3.9").error().contains("python3-venv"));
}

TEST_CASE("Pythons are found where they were named, on PATH and in folders of versions", "[environment][python]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  write_python(root / "named/python", answer_of(root / "named/python", "3, 8, 1", "cpython-38-x86_64-linux-gnu"));
  write_python(root / "versions/3.6.15/bin/python3",
               answer_of(root / "versions/3.6.15/bin/python3", "3, 6, 15", "cpython-36m-x86_64-linux-gnu"));
  write_python(root / "bin/python3.12", answer_of(root / "bin/python3.12", "3, 12, 0", ""));
  write_python(root / "bin/python3-config", answer_of(root / "bin/python3-config", "3, 1, 0", ""));
  fs::create_symlink(root / "bin/python3.12", root / "bin/python3");  // the same one again
  write_python(root / "bin/python3.5", "nonsense");
  write_python(root / "bin/python", R"(["x", "y", "cpython", ""])");
  write_python(root / "bin/python3.4", answer_of(root / "bin/python3.4", R"("3", "4", "0")", ""));  // words
  write_python(root / "bin/python3.9", R"([")" + root.string() + R"(/bin/python3.9", [3, 9, 0], "pypy", ""])");
  write_python(root / "prefix/bin/python3", answer_of(root / "prefix/bin/python3", "3, 7, 2", ""));
  const auto found = find_pythons({.named = {root / "named/python", root / "prefix", root / "not there"},
                                   .folders = {root / "bin", root / "no folder"},
                                   .version_folders = {root / "versions"}});
  REQUIRE(found.size() == 4);
  CHECK(to_text(found[0].version) == "3.12.0");
  CHECK(to_text(found[1].version) == "3.8.1");
  CHECK(found[1].abi == "cp38-x86_64-linux-gnu");
  CHECK(to_text(found[2].version) == "3.7.2");
  CHECK(to_text(found[3].version) == "3.6.15");
  CHECK(found[3].abi == "cp36m-x86_64-linux-gnu");
}

TEST_CASE("what a Python said of itself is remembered while its files are the same", "[environment][python]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  const fs::path program = root / "bin/python3.12", asked = root / "asked";
  const auto write = [&](const std::string& patch, const std::string& speaks_for) {
    const std::string modules = R"(", ")" + (root / "venv.py").string() + R"(", ")" + (root / "ensurepip.py").string();
    write_python(program,
                 R"([")" + speaks_for + R"(", [3, 12, )" + patch + R"(], "cpython", "abi)" + modules + R"("])");
    std::ofstream(program, std::ios::app) << "echo >> '" << asked.string() << "'\n";
  };
  const PythonPlaces places{.folders = {root / "bin"}, .memory = root / "cache/pythons.json"};
  const auto starts = [&] {  // of the program, as often as it was asked in processes that ended since
    std::ifstream lines(asked);
    return std::ranges::count(std::string(std::istreambuf_iterator<char>(lines), {}), '\n');
  };
  std::ofstream(root / "venv.py") << "1";
  std::ofstream(root / "ensurepip.py") << "1";
  write("0", program.string());
  const auto first = find_pythons(places);
  REQUIRE(first.size() == 1);
  CHECK(starts() == 1);
  const PythonMemory memory(places.memory);
  REQUIRE(memory.find(program));
  CHECK(memory.find(program)->version == first[0].version);
  CHECK(memory.find(program)->abi == first[0].abi);
  CHECK_FALSE(memory.find(root / "bin/python3.11"));

  fs::remove(root / "ensurepip.py");  // apt-get remove python3-venv
  CHECK_FALSE(PythonMemory(places.memory).find(program));
  std::ofstream(root / "ensurepip.py") << "22";
  CHECK_FALSE(PythonMemory(places.memory).find(program));
  write("10", program.string());
  CHECK(find_pythons(places).at(0).version.patch == 10);
  REQUIRE(PythonMemory(places.memory).find(program));
  CHECK(PythonMemory(places.memory).find(program)->version.patch == 10);

  auto kept = nlohmann::json::parse(std::ifstream(places.memory));
  kept["version"] = 0;  // what another Nocturne asked
  std::ofstream(places.memory) << kept;
  CHECK_FALSE(PythonMemory(places.memory).find(program));
  CHECK(find_pythons(places).size() == 1);

  write("222", (root / "bin/python").string());  // a shim that answers for another one
  CHECK(find_pythons(places).size() == 1);
  CHECK_FALSE(PythonMemory(places.memory).find(program));
  write("10", program.string());
  CHECK(find_pythons(places).size() == 1);
  fs::remove(program);
  const std::string venv = (root / "venv.py").string(), other = (root / "bin/python3.11").string();
  write_python(other, R"([")" + other + R"(", [3, 11, 0], "cpython", "abi", ")" + venv + R"(", ")" + venv + R"("])");
  CHECK(find_pythons(places).size() == 1);
  kept = nlohmann::json::parse(std::ifstream(places.memory));
  CHECK_FALSE(kept["pythons"].contains(program.string()));  // what is gone is not carried along
  std::ofstream(places.memory) << "torn";
  CHECK_FALSE(PythonMemory(places.memory).find(program));
}

TEST_CASE("pyenv's shims stand for the versions beside them", "[environment][python]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  const fs::path real = root / "versions/3.9.1/bin/python3.9";
  write_python(real, answer_of(real, "3, 9, 1", ""));
  write_python(root / "shims/python3.9", answer_of(root / "asked a shim", "3, 9, 2", ""));
  const auto found = find_pythons({.folders = {root / "shims"}, .version_folders = {root / "versions"}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].program == real);
  CHECK(find_pythons({.folders = {root / "shims"}}).at(0).version.patch == 2);  // of another program
}

TEST_CASE("this machine's Pythons say who they are", "[environment][python]") {
  const auto found = find_pythons(python_places());
  if (found.empty()) SKIP("no Python with venv and pip here");
  CHECK(std::ranges::is_sorted(found, std::ranges::greater{}, &PythonInterpreter::version));
  for (const PythonInterpreter& python : found) {
    INFO(python.program.string());
    CHECK(python.version >= PythonVersion{.major = 3, .minor = 6});
    CHECK(python.program == fs::canonical(python.program));
    CHECK(python.abi.starts_with("cp3"));
  }
}

}  // namespace nocturne::measure
