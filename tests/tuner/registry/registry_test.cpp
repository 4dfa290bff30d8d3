#include "tuner/registry/registry.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>

#include "measure/container/image_recipe.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/registry/modak_import.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

constexpr const char* kCluster =
    R"({"infrastructure": "hill", "scheduler": "torque", "container_runtime": "singularity",
  "modules": ["module load singularity"], "shared_folder": "/shared", "local_folder": "/tmp",
  "storage": {"file:///slow": "default-common", "file:///quick": "default-ssd"},
  "partitions": {
    "cpu": {"nodes": 4, "default": true, "node": {"ncpus": 2, "cpu": {"arch": "x86_64", "microarch": "zen3", "ncores": 8}}},
    "gpu": {"nodes": 1, "storage": {"file:///quick": "default-ultra_high"},
      "node": {"naccel": 2, "accel": {"type": "nvidia", "model": "V100"}}}}})";

std::string problems_of(const std::string& text, const std::string& stem = "") {
  const auto read = tuner::read_infrastructure(text, "hill.json", stem);
  return read ? "" : tuner::to_text(read.error());
}

/// An infrastructure with one partition of these members.
std::string with_node(const std::string& members) {
  return R"({"infrastructure": "x", "scheduler": "slurm", "partitions": {"p": {"node": {)" + members + "}}}}";
}

tuner::Fragment fragment(const std::string& name, const std::string& raw, const std::string& conditions) {
  auto read = tuner::read_fragment(
      R"({"fragment": ")" + name + R"(", "stage": "pre", "raw": ")" + raw + R"(", "conditions": )" + conditions + "}",
      name, name);
  if (!read) FAIL(tuner::to_text(read.error()));
  return *std::move(read);
}

tuner::Registry shipped() {
  return tuner::Registry::load({NOCTURNE_SOURCE_DIR "/tuner/registry"});
}

}  // namespace

TEST_CASE("an infrastructure says what runs its jobs, and where", "[registry]") {
  const auto read = tuner::read_infrastructure(kCluster, "hill.json", "hill");
  REQUIRE(read);
  CHECK(read->scheduler == "torque");
  CHECK(read->container_runtime == "singularity");
  CHECK(read->modules == std::vector<std::string>{"module load singularity"});
  CHECK(read->shared_folder == "/shared");
  CHECK(read->local_folder == "/tmp");
  REQUIRE(read->partition("") != nullptr);
  CHECK(read->partition("")->name == "cpu");
  CHECK(read->partition("")->nodes == 4);
  CHECK(read->partition("")->node_cores == 16);
  CHECK(read->partition("gpu")->accelerator == "nvidia");
  CHECK_FALSE(read->partition("gpu")->node_cores);
  CHECK(read->partition("none") == nullptr);
  // A partition's class of a location takes precedence.
  CHECK(read->storage_of(read->partition("gpu")).at("file:///quick") == "default-ultra_high");
}

TEST_CASE("what is wrong with an infrastructure is said with its place and the nearest name", "[registry]") {
  const std::pair<std::string, const char*> rows[] = {
      {"{}", "key 'infrastructure' is missing"},
      {R"({"infrastructure": "x"})", "key 'scheduler' is missing"},
      {R"({"infrastructure": "x", "scheduler": "slrum"})", "Did you mean 'slurm'?"},
      {R"({"infrastructure": "../x", "scheduler": "none"})", "letters, digits and ._-"},
      {R"({"infrastructure": "x", "scheduler": "none", "storag": {}})", "Did you mean 'storage'?"},
      {R"({"infrastructure": "x", "scheduler": "none", "storage": {"file:///a": "default-hi"}})",
       "Did you mean 'default-high'?"},
      {R"({"infrastructure": "x", "scheduler": "none", "shared_folder": "data"})", "an absolute path"},
      {R"({"infrastructure": "x", "scheduler": "none", "modules": ["a\nb"]})", "one line"},
      {R"({"infrastructure": "x", "scheduler": "none", "partitions": {"p": {"nodes": 0}}})", "/partitions/p/nodes"},
      {R"({"infrastructure": "x", "scheduler": "none",
          "partitions": {"p": {"default": true}, "q": {"default": true}}})",
       "p is the default already"},
      {with_node(R"("naccel": 2)"), "naccel and accel go together"},
      {with_node(R"("accel": {"type": "nvidia"})"), "naccel and accel go together"},
      {with_node(R"("cpu": {"arch": "x86_64", "microarch": "a64fx"})"), "\"a64fx\" does not descend from x86_64"},
      {with_node(R"("cpu": {"arch": "x86_46"})"), "Did you mean 'x86_64'?"},
  };
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK_THAT(problems_of(text), ContainsSubstring(expected) && ContainsSubstring("hill.json:"));
  }
  CHECK_THAT(problems_of(kCluster, "valley"), ContainsSubstring("the file is called valley.json"));
}

TEST_CASE("the preferred storage is of the class that is asked for, else the next slower, else the slowest",
          "[registry]") {
  const tuner::Storage storage = {{"a", "default-high"}, {"b", "default-ultra_high"}, {"c", "default-common"}};
  const auto place = [&](const char* preference) { return tuner::preferred_storage(storage, preference)->first; };
  CHECK(place("") == "c");
  CHECK(place("default-common") == "c");
  CHECK(place("default-high") == "a");
  CHECK(place("default-ssd") == "a");
  CHECK(place("default-ultra_high") == "b");
  CHECK(tuner::preferred_storage({{"b", "default-ssd"}, {"d", "default-ultra_high"}}, "default-high")->first == "b");
  CHECK_FALSE(tuner::preferred_storage({}, "default-high"));
}

TEST_CASE("fragments come from the general to the special, each text once", "[registry]") {
  const std::vector<tuner::Fragment> all = {
      fragment("both-feature", "e", R"({"application": {"name": "tf", "feature": {"xla": true}},
                                       "infrastructure": {"name": "hill"}})"),
      fragment("both", "d", R"({"application": {"name": "tf"}, "infrastructure": {"name": "hill"}})"),
      fragment("feature", "c", R"({"application": {"name": "tf", "feature": {"xla": true}}})"),
      fragment("application", "b", R"({"application": {"name": "tf"}})"),
      fragment("infrastructure", "a", R"({"infrastructure": {"storage_class": "default-ssd"}})"),
      fragment("again", "b", R"({"application": {"name": "tf"}, "infrastructure": {"name": "hill"}})"),
      fragment("other", "x", R"({"application": {"name": "torch"}})"),
      fragment("version", "y", R"({"application": {"name": "tf", "feature": {"version": "2.1"}}})"),
      fragment("denied", "z", R"({"application": {"name": "tf", "feature": {"xla": false}}})")};
  tuner::FragmentSubject subject{.applications = {"net", "tf"},
                                 .features = {{"xla", true}, {"version", "2.1"}},
                                 .infrastructure = "hill",
                                 .storage_class = "default-ssd"};
  std::string lines;
  for (const tuner::Fragment& each : tuner::fragments_for(all, subject)) lines += each.raw;
  CHECK(lines == "abcde");
  subject.infrastructure.clear();
  subject.storage_class.clear();
  lines.clear();
  for (const tuner::Fragment& each : tuner::fragments_for(all, subject)) lines += each.raw;
  CHECK(lines == "bc");
}

TEST_CASE("an image is a framework, an application or a library, and is there or says what is missing", "[registry]") {
  const auto problems = [](const std::string& text) {
    const auto read = tuner::read_image(text, "i.json", "");
    return read ? "" : tuner::to_text(read.error());
  };
  CHECK(problems(R"({"image": "i", "labels": {"framework": "pytorch"}, "container": "docker://a/b:1"})").empty());
  CHECK_THAT(problems(R"({"image": "i", "labels": {}, "container": "docker://a/b:1"})"),
             ContainsSubstring("one of framework, application, mpi_library"));
  CHECK_THAT(problems(R"({"image": "i", "labels": {"framework": "a", "application": "b"}, "missing": "x"})"),
             ContainsSubstring("one of framework, application, mpi_library"));
  CHECK_THAT(problems(R"({"image": "i", "labels": {"framework": "a"}})"), ContainsSubstring("or what is missing"));
  CHECK_THAT(problems(R"({"image": "i", "labels": {"framework": "a", "versoin": "1"}, "missing": "x"})"),
             ContainsSubstring("Did you mean 'version'?"));
  CHECK_THAT(problems(R"x({"image": "i", "labels": {"framework": "a"}, "container": "docker://$(x)"})x"),
             ContainsSubstring("a name on a hub"));
  CHECK_THAT(problems(R"({"image": "i", "labels": {"framework": "a"}, "packages": ["--index-url=x"]})"),
             ContainsSubstring("a plain requirement"));
  CHECK_THAT(
      problems(R"({"image": "i", "labels": {"application": "a"}, "missing": "x", "scaling": {"model": "amdahl"}})"),
      ContainsSubstring("parallel_fraction"));
  CHECK(tuner::singularity_file("docker://modakopt/modak:pytorch-1.5-cpu-pip") == "modak_pytorch-1.5-cpu-pip.sif");
  CHECK(tuner::singularity_file("shub://sodalite-hpe/modak:cp2k") == "modak_cp2k.sif");
  CHECK(tuner::singularity_file("/images/own.sif") == "/images/own.sif");
}

TEST_CASE("every shipped file of the registry can be read: 31 rows of the catalogue, and GLOW", "[registry]") {
  const tuner::Registry registry = shipped();
  CHECK(registry.problems.empty());
  CHECK(registry.images.size() == 32);
  std::size_t rows = 0, containers = 0;
  for (const tuner::Image& image : registry.images) {
    CHECK_FALSE(image.from.empty());
    rows += image.from.starts_with("MODAK's catalogue") ? 1U : 0U;
    containers += image.container.empty() ? 0U : 1U;
  }
  CHECK(rows == 31);
  CHECK(containers == 30);
  CHECK(registry.infrastructure("local").has_value());
  CHECK(registry.infrastructure("example-cluster").error() == "the infrastructure 'example-cluster' is disabled");
  CHECK(registry.infrastructure("lcal").error() == "no infrastructure 'lcal' is registered, did you mean 'local'?");
}

TEST_CASE("a user's file takes precedence, a wrong one is left out and named, a recipe is none", "[registry]") {
  const test::TemporaryFolder folder;
  const auto own = folder.path() / "own", shared = folder.path() / "shared";
  test::make_file(shared / "infrastructures/hill.json", kCluster);
  test::make_file(own / "infrastructures/hill.json", R"({"infrastructure": "hill", "scheduler": "slurm"})");
  test::make_file(own / "infrastructures/dale.json", R"({"infrastructure": "dale"})");
  test::make_file(own / "images/mine.json", R"({"image": "mine", "kind": "folder", "folder": "/srv/mine"})");
  const auto registry = tuner::Registry::load({own, shared, folder.path() / "nowhere"});
  REQUIRE(registry.infrastructures.size() == 1);
  CHECK(registry.infrastructures[0].scheduler == "slurm");
  REQUIRE(registry.problems.size() == 1);
  CHECK_THAT(registry.problems[0], ContainsSubstring("dale.json") && ContainsSubstring("'scheduler' is missing"));
  CHECK(registry.images.empty());
}

TEST_CASE("recipes carry the labels that requests ask for", "[registry]") {
  const auto set = measure::RecipeSet::load({NOCTURNE_SOURCE_DIR "/measure/environment/recipes"});
  const auto labels = [&](const char* name) { return tuner::labels_of(*set.find(name)); };
  CHECK(labels("tensorflow-2.21-cuda").name == "tensorflow");
  CHECK(labels("tensorflow-2.21-cuda").version == "2.21");
  CHECK(labels("tensorflow-2.21-cuda").accelerator == "nvidia");
  CHECK(labels("tensorflow-2.21").offered == std::vector<std::string>{"xla"});
  CHECK(labels("tensorflow-2.21").graph_compilers.empty());
  CHECK(labels("tensorflow-1.14-ngraph").graph_compilers == std::vector<std::string>{"ngraph"});
  CHECK(labels("debian-pytorch-blis").source == "distribution");
  CHECK(labels("onednn-opt-build").opt_build == true);
  CHECK(labels("tinygrad").version == "0.14");
  const auto image = measure::load_image_recipe(NOCTURNE_SOURCE_DIR "/measure/container/images/debian-12.json");
  REQUIRE(image);
  REQUIRE(tuner::labels_of(*image));
  CHECK(tuner::labels_of(*image)->name == "debian");
  CHECK(tuner::labels_of(*image)->kind == tuner::Labels::Kind::Application);
}

TEST_CASE("an infrastructure of MODAK's becomes a file of ours", "[registry]") {
  const auto imported = tuner::import_infrastructure(R"({"id": "7", "name": "testbed", "disabled": null,
    "description": "a testbed", "configuration": {"job_scheduler": "torque",
      "storage": {"file:///var/tmp": {"storage_class": "default-common"}, "file:///x": "default-ssd"},
      "partitions": {"p": {"nodes": 5, "default": true, "storage": null,
        "node": {"ncpus": 2, "cpu": {"arch": "x86_64", "microarch": "skylake", "ncores": 20, "nthreads": 40},
                 "naccel": 1, "accel": {"type": "nvidia", "model": "V100"}, "memory": 128}}}}})",
                                                     "m.json");
  REQUIRE(imported);
  const auto read = tuner::read_infrastructure(imported->dump(), "testbed.json", "testbed");
  REQUIRE(read);
  CHECK(read->scheduler == "torque");
  CHECK(read->storage.at("file:///var/tmp") == "default-common");
  CHECK(read->partition("")->node_cores == 40);
  const auto wrong = tuner::import_infrastructure(R"({"name": "x", "partitons": {}})", "m.json");
  REQUIRE_FALSE(wrong);
  CHECK_THAT(tuner::to_text(wrong.error()), ContainsSubstring("Did you mean 'partitions'?"));
  CHECK_FALSE(tuner::import_infrastructure("[]", "m.json"));
}

TEST_CASE("what is registered is listed, and an import is registered once", "[registry]") {
  test::CliFixture cli;
  for (const char* what : {"infrastructures", "fragments", "images"}) {
    CHECK(cli.nocturne({"list", what, "--json"}) == ExitCode::Ok);
    CHECK_FALSE(cli.json().at(what).empty());
  }
  CHECK(cli.nocturne({"list", "images"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("docker://modakopt/modak:pytorch-1.5-cpu-pip") &&
                            ContainsSubstring("none: no package and no image of GLOW exists"));
  cli.variables["XDG_CONFIG_HOME"] = cli.folder().string();
  const auto file = cli.folder() / "m.json";
  test::make_file(file, R"({"name": "testbed", "scheduler": "slurm"})");
  CHECK(cli.nocturne({"infrastructure", "import", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(std::filesystem::exists(cli.json().at("file").get<std::string>()));
  CHECK(cli.nocturne({"infrastructure", "import", file.string()}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("--replace replaces it"));
  CHECK(cli.nocturne({"infrastructure", "import", file.string(), "--replace"}) == ExitCode::Ok);
  CHECK(cli.nocturne({"list", "infrastructures"}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("testbed"));
  CHECK(cli.nocturne({"infrastructure", "export", file.string()}) == ExitCode::Usage);
  test::make_file(file, "{");
  CHECK(cli.nocturne({"infrastructure", "import", file.string()}) == ExitCode::Usage);
}
