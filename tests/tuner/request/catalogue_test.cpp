// Each row of the paper's catalogue is reached by a request, and docs/catalogue.md says by which.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/request/choose.hpp"
#include "tuner/request/job_request.hpp"

using namespace nocturne;
using cli::ExitCode;
using nlohmann::json;

namespace {

constexpr const char* kTable = NOCTURNE_SOURCE_DIR "/docs/catalogue.md";

tuner::Registry shipped() {
  return tuner::Registry::load({NOCTURNE_SOURCE_DIR "/tuner/registry"});
}

/// The parts of a request that name this image by its labels: application and optimisation.
json request_for(const tuner::Image& image) {
  const tuner::Labels& labels = image.labels;
  json application = {{"executable", "./run"}}, optimisation = json::object();
  if (labels.opt_build) optimisation["enable_opt_build"] = *labels.opt_build;
  if (!labels.cpu.empty()) optimisation["opt_build"]["cpu_type"] = labels.cpu;
  if (!labels.accelerator.empty()) optimisation["opt_build"]["acc_type"] = labels.accelerator;
  if (labels.kind == tuner::Labels::Kind::Framework) {
    json section = json::object();
    if (!labels.version.empty()) section["version"] = labels.version;
    for (const std::string& compiler : labels.graph_compilers) section[compiler] = true;
    optimisation["app_type"] = "ai_training";
    optimisation["app_type-ai_training"] = {{"config", {{"ai_framework", labels.name}}},
                                            {"ai_framework-" + labels.name, section}};
    return {{"application", application}, {"optimisation", optimisation}};
  }
  optimisation["app_type"] = "hpc";
  application["app_type"] = "mpi";
  json library = json::object();
  if (labels.kind == tuner::Labels::Kind::MpiLibrary) library = {{"library", labels.name}, {"version", labels.version}};
  if (labels.kind == tuner::Labels::Kind::Application) application["app_tag"] = labels.name;
  for (const char* each : {"mpich", "openmpi", "mvapich"})
    if (labels.has.contains(each)) library = {{"library", each}, {"version", labels.has.at(each)}};
  if (!library.empty())
    optimisation["app_type-hpc"] = {{"config", {{"parallelisation", "mpi"}}}, {"parallelisation-mpi", library}};
  return {{"application", application}, {"optimisation", optimisation}};
}

std::string table() {
  std::string text =
      "# The paper's catalogue\n\n"
      "The 31 rows of MODAK's catalogue of 2021 (arXiv 2008.11675), which Nocturne ships as images of its registry; "
      "for each the\n"
      "part of a request that reaches it where nothing was measured (`nocturne request`), and the answer. No speed is "
      "claimed of them.\n"
      "What was measured here takes precedence, and so does an environment that is installed. A test makes each of "
      "these requests,\n"
      "and checks this page.\n\n"
      "| row | application, optimisation | answer |\n| --- | --- | --- |\n";
  std::string notes;
  for (const tuner::Image& image : shipped().images) {
    if (!image.note.empty()) notes += fmt::format("- `{}`: {}.\n", image.name, image.note);
    if (!image.missing.empty()) {
      notes += fmt::format("- `{}`: {}. To plug one in: {}.\n", image.name, image.missing, image.plug_in);
      continue;
    }
    json request = request_for(image);
    request["application"].erase("executable");
    std::string asked = request["optimisation"].dump();
    if (!request["application"].empty()) asked = request["application"].dump() + " " + asked;
    text += fmt::format(
        "| `{}` | `{}` | {} |\n", image.row.empty() ? image.name : image.row, asked,
        image.container.empty() ? "packages `" + image.packages.front() + "`" : "`" + image.container + "`");
  }
  return text + "\n## Notes\n\n" + notes;
}

}  // namespace

TEST_CASE("each of the 31 rows of the catalogue is the answer to a request", "[request][thorough]") {
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  std::size_t reached = 0;
  for (const tuner::Image& image : shipped().images) {
    if (!image.missing.empty()) continue;
    CAPTURE(image.name);
    json job = request_for(image);
    job["job_options"] = {{"job_name", "x"}};
    job["target"] = {{"job_scheduler_type", "slurm"}};
    test::make_file(file, json{{"job", job}}.dump());
    REQUIRE(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
    const json answer = cli.json();
    CHECK(answer.at("warnings").empty());
    REQUIRE(answer.at("offer").is_object());
    CHECK(answer.at("offer").at("name") == image.name);
    CHECK(answer.at("evidence") == "not measured");
    CHECK(answer.at("container_runtime") == (image.container.empty() ? json() : json(image.container)));
    test::make_file(cli.folder() / "job.sh", answer.at("job_script").get<std::string>());
    test::make_file(cli.folder() / "build.sh", answer.at("build_script").get<std::string>());
    CHECK(test::shell("bash -n " + (cli.folder() / "job.sh").string()).code == 0);
    CHECK(test::shell("bash -n " + (cli.folder() / "build.sh").string()).code == 0);
    const bool xla = std::ranges::find(image.labels.graph_compilers, "xla") != image.labels.graph_compilers.end();
    CHECK(answer.at("job_script").get<std::string>().contains("export TF_XLA_FLAGS=") == xla);
    // Each other row and recipe has its reason.
    for (const json& other : answer.at("others")) CHECK_FALSE(other.at("reason").get<std::string>().empty());
    CHECK(answer.at("others").size() > shipped().images.size());
    ++reached;
  }
  CHECK(reached == 31);
}

TEST_CASE("the page of the catalogue says what its rows are reached by", "[request]") {
  CHECK(test::read_file(kTable) == table());
}

TEST_CASE("the page of the catalogue is made again", "[.][golden-remake]") {
  std::ofstream(kTable) << table();
}

TEST_CASE("a request for GLOW is told what is missing, and one's own build takes its place", "[request]") {
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"application": {"executable": "train"}, "optimisation": {"app_type-ai_training": {
    "config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"glow": true}}}}})");
  CHECK(cli.nocturne({"request", file.string()}) == ExitCode::Unavailable);
  CHECK_THAT(cli.err(), Catch::Matchers::ContainsSubstring("no package and no image of GLOW exists") &&
                            Catch::Matchers::ContainsSubstring("~/.config/nocturne/recipes/NAME.json"));
  cli.variables["XDG_CONFIG_HOME"] = cli.folder().string();
  test::make_file(cli.folder() / "nocturne/recipes/my-glow.json",
                  R"({"recipe": "my-glow", "kind": "command", "command": {"template": ["true"], "time": "process"},
                      "labels": {"framework": "pytorch", "graph_compilers": ["glow"]}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("offer").at("name") == "my-glow");
  test::make_file(cli.folder() / "nocturne/images/own.json",
                  R"({"image": "own", "container": "docker://me/glow:1",
                      "labels": {"framework": "pytorch", "graph_compilers": ["glow"]}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("container_runtime") == "docker://me/glow:1");
}

TEST_CASE("a request that lacks one label is told so of each row that is near", "[request]") {
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"application": {"executable": "./x", "app_type": "mpi"}, "optimisation": {
    "app_type": "hpc", "hpc": {"config": {"parallelisation": "mpi"}, "mpi": {"library": "openmpi", "version": "3.1"}}}}})");
  CHECK(cli.nocturne({"request", file.string()}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), Catch::Matchers::ContainsSubstring(
                            "ethcscs_openmpi_3.1.3: it is an optimised build, which the request does not enable"));
}

TEST_CASE("an application is found by its name where nothing is asked of its build", "[request]") {
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"application": {"app_name": "cp2k", "executable": "cp2k.psmp", "app_type": "mpi",
    "arch_build": {"cpu_type": "x86"}}}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("container_runtime") == "shub://sodalite-hpe/modak:cp2k-mpich");
  // Our own image, which no hub has.
  test::make_file(file, R"({"job": {"application": {"app_tag": "debian", "executable": "x"}}})");
  CHECK(cli.nocturne({"request", file.string()}) == ExitCode::Unavailable);
  CHECK_THAT(cli.err(), Catch::Matchers::ContainsSubstring("image debian-13 has what the request demands"));
}
