#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "measure/container/runtimes.hpp"
#include "tests/measure/environment/wheelhouse.hpp"

// Packages that dpkg-deb and dpkg-source really make and unpack; apt-get is a script that says what a mirror would.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using test::printed_by;
using test::Wheelhouse;

void needs_programs(std::initializer_list<const char*> programs) {
  for (const char* program : programs)
    if (!find_tool(program)) SKIP("the program " << program << " is not here");
}

void write_script(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "#!/bin/sh\n" << text;
  fs::permissions(file, fs::perms::owner_all);
}

std::string run_and_read(const std::vector<std::string>& argv) {
  const auto said = ask_tool(argv, std::chrono::seconds(60));
  INFO((said ? "" : said.error()));
  REQUIRE(said);
  return *said;
}

/// A mirror in a folder, and an apt-get on PATH that knows no other.
class Mirror {
 public:
  explicit Mirror(fs::path folder) : folder_(std::move(folder)), before_(std::getenv("PATH")) {
    fs::create_directories(folder_ / "pool");
    write_script(folder_ / "bin/apt-get", "mirror='" + folder_.string() + "'\n" + R"(
echo "$@" >> "$mirror/asked"
case " $* " in
  *" indextargets "*) echo "Debian http://mirror.example/debian/" ;;
  *" --simulate install "*) cat "$mirror/simulated" ;;
  *" download "*|*" source "*) [ -e "$mirror/broken" ] && { cat "$mirror/broken"; exit 100; }; cp "$mirror"/pool/* . ;;
  *" update "*) ;;
  *) exit 99 ;;
esac
)");
    setenv("PATH", ((folder_ / "bin").string() + ":" + before_).c_str(), 1);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() { setenv("PATH", before_.c_str(), 1); }

  /// A package of one file; apt would install it.
  void add(const std::string& name, const std::string& version, const std::string& path,
           const std::string& text) const {
    const fs::path tree = folder_ / "trees" / name;
    fs::create_directories(tree / "DEBIAN");
    fs::create_directories((tree / path).parent_path());
    std::ofstream(tree / "DEBIAN/control") << "Package: " << name << "\nVersion: " << version
                                           << "\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: test\n";
    std::ofstream(tree / path) << text;
    run_and_read({"dpkg-deb", "--build", tree.string(), (folder_ / "pool" / (name + ".deb")).string()});
    std::ofstream(folder_ / "simulated", std::ios::app) << "Inst " << name << " (" << version << " Debian:12 [all])\n";
  }
  void break_it(const std::string& words) const { std::ofstream(folder_ / "broken") << words << '\n'; }
  [[nodiscard]] fs::path pool() const { return folder_ / "pool"; }
  [[nodiscard]] std::string asked() const {
    std::ifstream in(folder_ / "asked");
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path folder_;
  std::string before_;
};

EnvironmentRecipe debian_recipe() {
  EnvironmentRecipe recipe;
  recipe.name = "debian-tiny";
  recipe.worker = "tiny_worker.py";
  recipe.source = "distribution";
  recipe.debian = {"python3-tiny", "libtiny-fast"};
  recipe.imports = {"tiny"};
  recipe.environment = {{"TINY_LIBRARY", "{environment}/debian/usr/lib/fast/tiny.txt"}};
  return recipe;
}

void fill(const Mirror& mirror) {
  mirror.add("python3-tiny", "1:2.0-1", "usr/lib/python3/dist-packages/tiny.py",
             "import os\nlibrary = open(os.environ['TINY_LIBRARY']).read() if 'TINY_LIBRARY' in os.environ else ''\n");
  mirror.add("libtiny-fast", "3.1", "usr/lib/fast/tiny.txt", "fast");
}

/// The distribution's Python must be one of those that the house knows.
void needs_system_python(Wheelhouse& house) {
  house.places = {.named = {"/usr/bin/python3"}, .folders = {}, .version_folders = {}};
  if (find_pythons(house.places).empty()) SKIP("the distribution's Python has no venv here");
}

}  // namespace

TEST_CASE("packages of the distribution are unpacked beside the system and imported from there",
          "[environment][debian]") {
  needs_programs({"dpkg-deb"});
  Wheelhouse house;
  needs_system_python(house);
  const Mirror mirror(house.path() / "mirror");
  fill(mirror);
  const auto made = house.obtain(debian_recipe());
  INFO((made ? "" : made.error().reason + '\n' + made.error().log_tail));
  REQUIRE(made);
  CHECK(made->lock == std::vector<std::string>{"libtiny-fast==3.1", "python3-tiny==1:2.0-1"});
  const std::string library = variables_of(debian_recipe(), made->folder).at("TINY_LIBRARY");
  CHECK(fs::exists(library));  // the folder was renamed since it was unpacked
  CHECK(printed_by(*made, "import os; os.environ['TINY_LIBRARY'] = '" + library +
                              "'; import tiny; print(tiny.library)") == "fast\n");
  CHECK_FALSE(fs::exists("/usr/lib/python3/dist-packages/tiny.py"));
  CHECK(mirror.asked().contains("download -- python3-tiny=1:2.0-1 libtiny-fast=3.1"));
  CHECK(EnvironmentStore(house.root()).find(debian_recipe()));
}

TEST_CASE("error with the distribution's packages is a sentence", "[environment][debian][error]") {
  needs_programs({"dpkg-deb"});
  Wheelhouse house;
  needs_system_python(house);
  const Mirror mirror(house.path() / "mirror");
  fill(mirror);
  const auto reason = [&] {
    const auto made = house.obtain(debian_recipe());
    CHECK_FALSE(EnvironmentStore(house.root()).find(debian_recipe()));
    return made ? std::string() : made.error().reason;
  };
  SECTION("a mirror that cannot be reached") {
    mirror.break_it("E: Failed to fetch http://mirror.example/x  Temporary failure resolving 'mirror.example'");
    CHECK(reason().starts_with("debian-tiny: the distribution's mirror cannot be reached"));
  }
  SECTION("a package that is gone from it") {
    fs::remove(mirror.pool() / "libtiny-fast.deb");
    CHECK(reason().starts_with("debian-tiny: of 2 packages 1 are there whole"));
  }
  SECTION("a damaged package") {
    fs::resize_file(mirror.pool() / "libtiny-fast.deb", 100);
    CHECK(reason().starts_with("debian-tiny: of 2 packages 1 are there whole"));
  }
  SECTION("a machine without apt") {
    setenv("PATH", "/nowhere", 1);
    const auto obstacle = EnvironmentStore(house.root()).obstacle(debian_recipe(), house.places, house.options);
    REQUIRE(obstacle);
    CHECK(obstacle->unavailable);
    CHECK(obstacle->reason.contains("apt-get is not here"));
  }
}

TEST_CASE("a library is built from its source package with the recipe's flags", "[environment][debian]") {
  needs_programs({"dpkg-source", "cmake", "c++", "tar"});
  Wheelhouse house;
  const Mirror mirror(house.path() / "mirror");
  const fs::path tree = house.path() / "tiny-1.2";
  fs::create_directories(tree / "debian/source");
  std::ofstream(tree / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.16)\nproject(tiny CXX)\nadd_library(tiny SHARED tiny.cpp)\n"
         "target_compile_definitions(tiny PRIVATE TINY_FLAG=${TINY_FLAG})\n"
         "install(TARGETS tiny DESTINATION lib)\ninstall(FILES tiny.h DESTINATION include)\n";
  std::ofstream(tree / "tiny.cpp") << "extern \"C\" int tiny() { return TINY_FLAG; }\n";
  std::ofstream(tree / "tiny.h") << "extern \"C\" int tiny();\n";
  std::ofstream(tree / "debian/source/format") << "3.0 (native)\n";
  std::ofstream(tree / "debian/control") << "Source: tiny\nMaintainer: a <a@example.org>\n\nPackage: tiny\n"
                                            "Architecture: any\nDescription: test\n";
  std::ofstream(tree / "debian/changelog") << "tiny (1.2) unstable; urgency=low\n\n  * Test.\n\n"
                                              " -- a <a@example.org>  Thu, 01 Jan 2015 00:00:00 +0000\n";
  const auto packed =
      command_output({.argv = {find_tool("dpkg-source")->string(), "--build", tree.string()}, .folder = mirror.pool()},
                     std::chrono::steady_clock::now() + std::chrono::seconds(60));
  INFO((packed ? "" : packed.error()));
  REQUIRE(packed);

  EnvironmentRecipe recipe;
  recipe.name = "tiny-opt";
  recipe.kind = RecipeKind::Native;
  recipe.source = "opt-build";
  recipe.worker = "onednn";
  recipe.build = SourcePackage{.package = "tiny", .suite = "sid", .cmake = {"-DTINY_FLAG=42"}};
  SECTION("with its own flags") {
    const auto made = house.obtain(recipe);
    INFO((made ? "" : made.error().reason + '\n' + made.error().log_tail));
    REQUIRE(made);
    CHECK(made->lock == std::vector<std::string>{"tiny==1.2"});
    CHECK(made->python.empty());
    CHECK(fs::exists(made->folder / "include/tiny.h"));
    Environment any;
    any.python = house.places.named.front();
    CHECK(printed_by(any, "import ctypes; print(ctypes.CDLL('" + (made->folder / "lib/libtiny.so").string() +
                              "').tiny())") == "42\n");
    CHECK(EnvironmentStore(house.root()).find(recipe));
    recipe.build->cmake = {"-DTINY_FLAG=43"};  // other flags, another library
    CHECK_FALSE(EnvironmentStore(house.root()).find(recipe));
  }
  SECTION("flags that do not compile") {
    recipe.build->cmake = {"-DTINY_FLAG=nonsense"};
    const auto made = house.obtain(recipe);
    REQUIRE_FALSE(made);
    CHECK(made.error().reason.starts_with("tiny-opt: build fails: "));
    CHECK(test::entries_of(house.root() / ".making") == 0);
  }
}

}  // namespace nocturne::measure
