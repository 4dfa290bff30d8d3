// First the tree itself, then the rules: each is shown a planted breach, for a guard that cannot bark is none.
#include "tests/architecture/rules.hpp"

#include <unistd.h>

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/architecture/function_lengths.hpp"
#include "tests/architecture/repeated_blocks.hpp"

namespace nocturne::architecture {
namespace {

namespace fs = std::filesystem;

/// A tree of a test's own, removed at its end.
class PlantedTree {
 public:
  PlantedTree() : root_(fs::temp_directory_path() / ("nocturne-architecture-" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~PlantedTree() { fs::remove_all(root_); }
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  void plant(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

std::string include_of(std::string_view header) {
  return "#include \"" + std::string(header) + "\"\n";
}

}  // namespace

TEST_CASE("the source tree keeps its own rules", "[architecture]") {
  const fs::path root = NOCTURNE_SOURCE_DIR;
  REQUIRE(files_of(root).size() > 50);  // what reads nothing finds nothing
  for (const Violation& finding : check_tree(root))
    FAIL_CHECK(finding.file << ":" << finding.line << ": " << finding.what);
}

TEST_CASE("a planted arrow is found with its file and line", "[architecture]") {
  PlantedTree tree;
  tree.plant("space/good.hpp", "#pragma once\n#include <vector>\n#include \"space/trial.hpp\"\n");
  tree.plant("tuner/campaign/loop.cpp", include_of("db/store.hpp") + include_of("measure/protocol/request.hpp"));
  REQUIRE(check_tree(tree.root()).empty());
  tree.plant("space/bad.cpp", "// space knows nobody\n" + include_of("db/store.hpp"));
  CHECK(check_tree(tree.root()) ==
        std::vector<Violation>{{"space/bad.cpp", 2, "space may not include db (db/store.hpp)"}});
}

TEST_CASE("each arrow that is not in the table is refused", "[architecture]") {
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {"space/a.cpp", "search/strategy.hpp"},
      {"space/a.cpp", "measure/protocol/request.hpp"},
      {"search/a.cpp", "db/store.hpp"},
      {"search/a.cpp", "measure/run/runner.hpp"},
      {"search/model/a.cpp", "tuner/cli/cli.hpp"},
      {"db/a.cpp", "search/strategy.hpp"},
      {"db/a.cpp", "measure/run/runner.hpp"},
      {"measure/run/a.cpp", "db/store.hpp"},
      {"measure/run/a.cpp", "search/strategy.hpp"},
      {"measure/run/a.cpp", "kernels/networks/network.hpp"},
      {"measure/protocol/a.cpp", "space/trial.hpp"},
      {"measure/protocol/a.cpp", "measure/run/runner.hpp"},
      {"measure/supervisor/a.cpp", "measure/run/runner.hpp"},
      {"measure/run/a.cpp", "measure/machine/machine.hpp"},
      {"tuner/schema/a.cpp", "tuner/installation/version.hpp"},
      {"tuner/campaign_file/a.cpp", "tuner/executor/executor.hpp"},
      {"tuner/roofline/a.cpp", "tuner/campaign/campaign.hpp"},
      {"tuner/doctor/a.cpp", "tuner/preview/length.hpp"},
      {"tuner/deploy/a.cpp", "tuner/cli/context.hpp"},
      {"tuner/cli/a.cpp", "tuner/unknown/a.hpp"},
      {"kernels/onednn/a.cpp", "space/trial.hpp"},
      {"kernels/onednn/a.cpp", "kernels/machine/peak.hpp"},
      {"kernels/cuda/a.cpp", "kernels/onednn/plan/plan.hpp"},
      {"kernels/machine/a.cpp", "kernels/cuda/device/device.hpp"},
      {"kernels/networks/a.cpp", "tuner/cli/a.hpp"},
      {"tuner/cli/a.cpp", "kernels/data/schedule.hpp"},
      {"tuner/cli/a.cpp", "tests/support/fake.hpp"}};
  for (const auto& [file, header] : forbidden) {
    INFO(file << " includes " << header);
    CHECK(check_text(file, include_of(header)).size() == 1);
  }
}

TEST_CASE("each arrow of the table is allowed", "[architecture]") {
  const std::vector<std::pair<std::string, std::string>> allowed = {
      {"search/a.cpp", "space/trial.hpp"},
      {"db/a.cpp", "space/trial.hpp"},
      {"measure/run/a.cpp", "space/trial.hpp"},
      {"measure/run/a.cpp", "measure/protocol/request.hpp"},
      {"measure/run/a.cpp", "measure/supervisor/supervisor.hpp"},
      {"tuner/campaign/a.cpp", "tuner/executor/executor.hpp"},
      {"tuner/main.cpp", "tuner/cli/cli.hpp"},
      {"tuner/campaign_file/a.cpp", "kernels/networks/network.hpp"},
      {"kernels/onednn/a.cpp", "kernels/networks/network.hpp"},
      {"kernels/onednn/a.cpp", "measure/protocol/request.hpp"},
      {"kernels/cuda/a.cpp", "kernels/machine/repeats.hpp"},
      {"tuner/cli/a.cpp", "search/strategy.hpp"},
      {"tests/db/a_test.cpp", "db/store.hpp"}};
  for (const auto& [file, header] : allowed) {
    INFO(file << " includes " << header);
    CHECK(check_text(file, include_of(header)).empty());
  }
}

TEST_CASE("a source beside the components is found", "[architecture]") {
  CHECK(check_text("tuner/a.cpp", "int f();\n").size() == 1);
  CHECK(check_text("tuner/unknown/a.cpp", "int f();\n").size() == 1);
  CHECK(check_text("tuner/main.cpp", "int f();\n").empty());
  CHECK(check_text("measure/protocol/a.cpp", "int f();\n").empty());
}

TEST_CASE("an include is seen however it is spelled, and only if it is one", "[architecture]") {
  CHECK(check_text("space/a.cpp", "  #  include   \"db/store.hpp\"  // why\n").size() == 1);
  CHECK(check_text("space/a.cpp", "#include <db/store.hpp>\n").size() == 1);
  CHECK(check_text("space/a.cpp", "#include \"db/store.hpp\"").size() == 1);  // no newline at the end
  CHECK(check_text("space/a.cpp", "// #include \"db/store.hpp\"\n").empty());
  CHECK(check_text("space/a.cpp", "#include <sqlite3.h>\n").empty());
  CHECK(check_text("space/a.cpp", "#include \"trial.hpp\"\n").size() == 1);        // not from the root
  CHECK(check_text("space/a.cpp", "#include \"../db/store.hpp\"\n").size() == 1);  // nor around it
}

TEST_CASE("a header without #pragma once at its top is found", "[architecture]") {
  CHECK(check_text("space/a.hpp", "#pragma once\nint f();\n").empty());
  CHECK(check_text("space/a.hpp", "// What it is for.\n\n#pragma once\n").empty());
  CHECK(check_text("space/a.hpp", "#include <vector>\n#pragma once\n").size() == 1);
  CHECK(check_text("space/a.hpp", "").size() == 1);
  CHECK(check_text("space/a.cpp", "int f();\n").empty());
}

TEST_CASE("a function of more than 60 lines is found, with its name and where it begins", "[architecture]") {
  const std::string top = "#include <vector>\n\n/// Long.\nint Campaign::open(int a,\n                   int b) {\n";
  std::string body;
  for (int i = 0; i < 57; ++i) body += "  work();\n";
  CHECK(check_text("space/a.cpp", top + body + "}\n").empty());
  const auto found = check_text("space/a.cpp", top + body + "  work();\n}\n");
  CHECK(found == std::vector<Violation>{{"space/a.cpp", 4, "Campaign::open has 61 lines; 60 fit on a screen"}});
  CHECK(check_text("tests/space/a_test.cpp", top + body + body + "}\n").empty());  // sentences beside each other
}

TEST_CASE("functions are told from other braces, strings and comments", "[architecture]") {
  const std::vector<Function> found = functions_of(R"(
namespace a {
struct Point { int x = 0; };
const std::vector<int> kTable = {f(1), {2}};  // } {
class Strategy {
 public:
  Strategy() : count_{1} {}
  [[nodiscard]] bool done() const {
    const auto each = [](int i) { return i; };
    return text == "}" && letter == '}' && each(1'000) > 1; /* { */
  }
};
}  // namespace a
)");
  REQUIRE(found.size() >= 2);
  CHECK(found.back() == Function{"done", 8, 4});
}

TEST_CASE("a block of twelve lines that stands twice is found, however it is indented and commented",
          "[architecture]") {
  std::string block, copy;
  for (int i = 0; i < 11; ++i) {
    block += "  work(" + std::to_string(i) + ");\n";
    copy += "    work(" + std::to_string(i) + ");  // step\n\n";
  }
  PlantedTree tree;
  tree.plant("space/a.cpp", "// One.\nvoid f() {\n" + block + "  first();\n}\n");
  tree.plant("tuner/campaign/b.cpp", "void g() {\n" + copy + "  second();\n}\n");
  tree.plant("tests/space/a_test.cpp", "void f() {\n" + block + "  first();\n}\n");  // examples may repeat each other
  CHECK(check_tree(tree.root()).empty());
  tree.plant("tuner/campaign/b.cpp", "void g() {\n" + copy + "  first();\n}\n");
  CHECK(check_tree(tree.root()) == std::vector<Violation>{{"tuner/campaign/b.cpp", 2,
                                                           "13 lines stand in space/a.cpp:3 already: write the idea "
                                                           "once"}});
}

TEST_CASE("a copy in the same source is found, a table of equal lines is none", "[architecture]") {
  const std::string table = "  {1, 1},\n  {1, 1},\n  {1, 1},\n";
  CHECK(repeated_blocks(std::vector<SourceText>{{"a.cpp", table}}, 2).empty());
  const std::string text = "  one();\n  two(\"a  //\");\n  three();\n  one();\n  two(\"a  //\");\n";
  const auto found = repeated_blocks(std::vector<SourceText>{{"a.cpp", text}}, 2);
  CHECK(found == std::vector<RepeatedBlock>{{"a.cpp", 4, 2, "a.cpp", 1}});
}

TEST_CASE("paths of one machine and unkept promises are found", "[architecture]") {
  CHECK(check_text("db/a.cpp", std::string("// in /ho") + "me/somebody\n").size() == 1);
  CHECK(check_text("tests/db/a_test.cpp", std::string("// in /ho") + "me/somebody\n").empty());
  CHECK(check_text("tests/db/a_test.cpp", std::string("// in /wo") + "rk/x\n").size() == 1);
  CHECK(check_text("README.md", std::string("see /wo") + "rk/x\n").size() == 1);
  CHECK(check_text("check", std::string("# TO") + "DO later\n").size() == 1);
}

TEST_CASE("no third-party library is copied into the tree", "[architecture]") {
  PlantedTree tree;
  tree.plant("measure/protocol/nlohmann/json.hpp", "#pragma once\n#include <nlohmann/detail/value_t.hpp>\n");
  CHECK(check_tree(tree.root()).size() == 1);
}

}  // namespace nocturne::architecture
