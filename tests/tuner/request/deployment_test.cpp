#include "tuner/request/deployment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/request/build_script.hpp"
#include "tuner/request/job_script.hpp"
#include "tuner/request/open_campaign.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;
using nlohmann::json;

namespace {

tuner::Infrastructure hill() {
  auto read = tuner::read_infrastructure(R"({"infrastructure": "hill", "scheduler": "torque",
    "container_runtime": "singularity", "modules": ["module load singularity"],
    "storage": {"file:///slow": "default-common", "file:///quick": "default-ssd"},
    "partitions": {"cpu": {"nodes": 4, "default": true, "node": {"ncpus": 2, "cpu": {"arch": "x86_64", "ncores": 8}}},
                   "big": {"nodes": 64, "node": {"cpu": {"ncores": 4}}}}})",
                                         "hill.json", "");
  if (!read) FAIL(tuner::to_text(read.error()));
  return *std::move(read);
}

tuner::Fragment fragment(const char* name, const char* stage, const char* raw) {
  return *tuner::read_fragment(json{{"fragment", name}, {"stage", stage}, {"raw", raw}}.dump(), name, "");
}

tuner::Registry registry() {
  tuner::Registry registry;
  registry.infrastructures.push_back(hill());
  return registry;
}

/// The request with these members of job, read with that registry.
std::expected<tuner::JobRequest, std::vector<tuner::Problem>> read_job(const std::string& members) {
  return tuner::read_request(R"({"job": {)" + members + "}}", "job.json", false, registry());
}

tuner::JobRequest read(const std::string& members) {
  auto request = read_job(members);
  if (!request) FAIL(tuner::to_text(request.error()));
  return *std::move(request);
}

std::string problems_of(const std::string& members) {
  const auto request = read_job(members);
  return request ? "" : tuner::to_text(request.error());
}

std::string warnings_of(const std::string& members) {
  return tuner::to_text(read(members).warnings);
}

tuner::Deployment deployed(const std::string& members, const tuner::Choice& choice = {},
                           const tuner::Registry& with = registry()) {
  auto deployment = tuner::deployment_of(read(members), choice, {}, with);
  if (!deployment) FAIL(deployment.error());
  return *std::move(deployment);
}

std::string script(const std::string& members, const tuner::Choice& choice = {}) {
  return tuner::job_script(deployed(members, choice));
}

tuner::Choice image(tuner::Scaling scaling = {}) {
  return {.offer = tuner::Offer{.kind = tuner::Offer::Kind::Image,
                                .name = "solver",
                                .labels = {.kind = tuner::Labels::Kind::Application, .name = "solver"},
                                .container = "docker://me/solver:2",
                                .scaling = scaling}};
}

std::string run(const std::string& application, const std::string& more = "") {
  return R"("application": {"executable": "./solve", "arguments": "-i 'two words'", )" + application + "}" + more;
}

constexpr const char* kSlurm = R"(, "job_options": {}, "target": {"job_scheduler_type": "slurm"})";
constexpr const char* kHill = R"(, "job_options": {}, "target": {"name": "hill"})";

}  // namespace

TEST_CASE("a registered infrastructure decides the scheduler, and says so where another is named", "[request]") {
  CHECK(read(R"("job_options": {}, "target": {"name": "hill"})").scheduler() == "torque");
  const std::string both = R"("job_options": {}, "target": {"name": "hill", "job_scheduler_type": "slurm"})";
  CHECK(read(both).scheduler() == "torque");
  CHECK_THAT(warnings_of(both), ContainsSubstring("\"slurm\" is not what hill has: torque decides"));
  CHECK(warnings_of(R"("target": {"name": "hill", "job_scheduler_type": "torque"})").empty());
  // One that is not registered needs a scheduler, which decides then.
  CHECK_THAT(problems_of(R"("target": {"name": "hil"})"),
             ContainsSubstring("no infrastructure 'hil' is registered, did you mean 'hill'?"));
  const std::string unknown = R"("job_options": {}, "target": {"name": "dale", "job_scheduler_type": "slurm"})";
  CHECK(read(unknown).scheduler() == "slurm");
  CHECK_THAT(warnings_of(unknown), ContainsSubstring("'dale' is registered; the scheduler that is named decides"));
}

TEST_CASE("the queue is a partition of the infrastructure, with as many nodes as it has", "[request]") {
  const auto problem = [](const std::string& options) {
    return problems_of(R"("target": {"name": "hill"}, "job_options": {)" + options + "}");
  };
  CHECK(problem(R"("queue": "big", "node_count": 64)").empty());
  CHECK_THAT(problem(R"("queue": "bg")"),
             ContainsSubstring("/job/job_options/queue: hill has no partition \"bg\"; allowed: big, cpu. Did you mean "
                               "'big'?"));
  CHECK_THAT(problem(R"("node_count": 5)"),
             ContainsSubstring("found 5; partition cpu of hill has 4 nodes; allowed: at most 4"));
  CHECK_THAT(problem(R"("queue": "big", "node_count": 65)"), ContainsSubstring("partition big of hill has 64 nodes"));
}

TEST_CASE("nodes that are not named are as many as the ranks need", "[request]") {
  const auto deployment = deployed(run(R"("app_type": "mpi", "mpi_ranks": 33)", kHill));
  CHECK(deployment.parallelism.nodes == 3);
  const auto options = tuner::completed_options(deployment);
  CHECK(options.at("node_count") == 3);
  CHECK(options.at("process_count_per_node") == 11);
  const auto too_many = tuner::deployment_of(read(run(R"("app_type": "mpi", "mpi_ranks": 65)", kHill)), {}, {}, {});
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error() == "65 ranks need 5 nodes of 16 cores, and partition cpu has 4");
}

TEST_CASE("mpi and hpc get a launcher and their threads, python neither", "[request]") {
  CHECK_THAT(script(run(R"("app_type": "mpi", "mpi_ranks": 4, "threads": 2)", kSlurm)),
             ContainsSubstring("export OMP_NUM_THREADS=2\nsrun -n 4 ./solve -i 'two words'\n") &&
                 ContainsSubstring("#SBATCH --ntasks-per-node=4\n") &&
                 ContainsSubstring("#SBATCH --cpus-per-task=2\n"));
  CHECK_THAT(script(run(R"("app_type": "hpc", "mpi_ranks": 4)", kHill)),
             ContainsSubstring("export OMP_NUM_THREADS=1\nmpirun -np 4 ./solve -i 'two words'\n"));
  const std::string python = script(run(R"("app_type": "python", "mpi_ranks": 4)", kSlurm));
  CHECK_THAT(python, ContainsSubstring("\n./solve -i 'two words'\n"));
  CHECK_FALSE(python.contains("OMP_NUM_THREADS"));
  CHECK_THAT(warnings_of(run(R"("app_type": "python", "mpi_ranks": 4)")), ContainsSubstring("has no launcher"));
  CHECK_THAT(script(run(R"("app_type": "hpc")", R"(, "optimisation": {"hpc": {"config": {"parallelisation": "openmp"},
                        "openmp": {"number_of_threads": 6, "affinity": "close"}}})")),
             ContainsSubstring("export OMP_NUM_THREADS=6\nexport OMP_PROC_BIND=close\n"));
}

TEST_CASE("ranks are lowered to the parallel efficiency that is asked for, and never raised", "[request]") {
  // E(n) = 1 / (n(1-F) + F): with F = 0.99 and e = 0.8 the most are (1 - 0.792) / (0.8 * 0.01) = 26.
  CHECK(tuner::efficient_ranks(64, 0.8, 0.99) == 26);
  CHECK(tuner::efficient_ranks(8, 0.8, 0.99) == 8);
  CHECK(tuner::efficient_ranks(64, 1, 0.99) == 1);
  CHECK(tuner::efficient_ranks(64, 0.5, 1) == 64);
  CHECK(tuner::efficient_ranks(64, 0.9, 0) == 1);
  const std::string asked =
      run(R"("app_type": "mpi", "mpi_ranks": 64, "threads": 8, "minimal_efficiency": 0.8)", kSlurm);
  const auto with = [&](tuner::Scaling scaling) { return deployed(asked, image(scaling)); };
  const auto amdahl = with({.model = tuner::Scaling::Model::Amdahl, .parallel_fraction = 0.99});
  CHECK(amdahl.parallelism.ranks == 26);
  CHECK_THAT(tuner::job_script(amdahl),
             ContainsSubstring("# 26 ranks, not 64: more fall below a parallel efficiency of "
                               "0.8 where a fraction of 0.99 is parallel"));
  // What runs say takes precedence, and says how well it is known.
  const auto fitted = tuner::fit_scaling({{1, 100.1}, {2, 51.0}, {4, 25.9}, {8, 13.3}, {16, 7.2}});
  REQUIRE(fitted);
  CHECK(fitted->parallel_fraction > 0.985);
  CHECK(fitted->low < 0.99);
  CHECK(fitted->high > 0.99);
  CHECK(fitted->points == 5);
  const auto by_runs = tuner::parallelism_of(read(asked), tuner::Scaling{.model = tuner::Scaling::Model::Noop}, fitted);
  CHECK(by_runs->ranks < 64);
  CHECK_THAT(by_runs->reason, ContainsSubstring("fitted from 5 numbers of ranks"));
  CHECK_FALSE(tuner::fit_scaling({{1, 10}, {2, 5}, {2, 5}}));
  CHECK_FALSE(tuner::fit_scaling({{1, 10}, {2, 11}, {4, 12}}));
  const auto most = with({.model = tuner::Scaling::Model::Max, .most_ranks = 16, .most_threads = 2});
  CHECK(most.parallelism.ranks == 16);
  CHECK(most.parallelism.threads == 2);
  CHECK(with({.model = tuner::Scaling::Model::Noop}).parallelism.ranks == 64);
  CHECK_THAT(deployed(asked).parallelism.reason, ContainsSubstring("minimal_efficiency changes nothing"));
}

TEST_CASE("a container is started by the infrastructure's runtime, outside of it the launcher", "[request]") {
  const std::string torque = script(run(R"("app_type": "mpi")", kHill), image());
  CHECK_THAT(torque, ContainsSubstring("module load singularity\n") &&
                         ContainsSubstring("cd -- \"${PBS_O_WORKDIR:-$PWD}\" || exit 5\n") &&
                         ContainsSubstring("image=\"${IMAGES:-$PWD}\"/solver_2.sif\n") &&
                         ContainsSubstring("mpirun -np 1 singularity exec \"$image\" ./solve -i 'two words'\n"));
  const std::string gpu = R"(, "job_options": {"request_gpus": 1}, "target": {"job_scheduler_type": "slurm"})";
  CHECK_THAT(script(run(R"("app_type": "python")", gpu), image()),
             ContainsSubstring("\"$runtime\" exec --nv \"$image\" ./solve") && ContainsSubstring("--gres=gpu:1"));
  // Data that are named are seen inside.
  CHECK_THAT(script(run(R"("app_type": "python")",
                        R"(, "optimisation": {"app_type-ai_training": {"data": {"location": "/my data"}}})"),
                    image()),
             ContainsSubstring("exec --bind '/my data' \"$image\""));
  auto deployment = deployed(run(R"("app_type": "python")"), image());
  for (const auto& [runtime, words] :
       {std::pair{"podman", "podman run --rm --volume \"$PWD\":\"$PWD\""},
        {"docker", "docker run --rm"},
        {"charliecloud", "ch-run --bind \"$PWD\":\"$PWD\" --cd \"$PWD\" \"$image\" -- ./solve"},
        {"shifter", "shifter --image=\"$image\" ./solve"}}) {
    deployment.runtime = runtime;
    CHECK_THAT(tuner::job_script(deployment), ContainsSubstring(words));
    CHECK_THAT(tuner::build_script(deployment), ContainsSubstring("me/solver:2"));
  }
}

TEST_CASE("a container that was given is replaced by a better one, and kept where there is none", "[request]") {
  const std::string given = run(R"("app_type": "python", "container_runtime": "me/own:1")");
  const auto kept = deployed(given);
  CHECK(kept.container == "docker://me/own:1");
  const auto replaced = deployed(given, image());
  CHECK(replaced.container == "docker://me/solver:2");
  CHECK_THAT(replaced.notes.at(0), ContainsSubstring("docker://me/own:1 is replaced by docker://me/solver:2"));
}

TEST_CASE("the preferred storage is a variable of the fragments before and behind", "[request]") {
  auto with = registry();
  with.fragments = {fragment("stage-in", "pre", "cp data \"$preferred_storage_location\""),
                    fragment("stage-out", "post", "echo done")};
  const std::string members = run(R"("app_type": "python", "storage_class_pref": "default-high")", kHill);
  const auto slow = tuner::job_script(deployed(members, {}, with));
  CHECK_THAT(slow, ContainsSubstring("export preferred_storage_location=/slow\n# stage-in\ncp data") &&
                       ContainsSubstring(")\nstatus=$?\n# stage-out\necho done\nexit $status\n") &&
                       ContainsSubstring("# hill has no storage of class default-high; default-common is taken.\n"));
  const auto quick = deployed(run(R"("app_type": "python", "storage_class_pref": "default-ultra_high")", kHill));
  CHECK(tuner::storage_place(quick) == "/quick");
  CHECK_THAT(deployed(run(R"("storage_class_pref": "default-high")")).notes.at(0),
             ContainsSubstring("storage_class_pref decides nothing"));
  // The exit status stays that of the application, whatever comes behind.
  const test::TemporaryFolder folder;
  with.fragments = {fragment("last", "post", "true")};
  test::make_file(
      folder.path() / "job.sh",
      tuner::job_script(deployed(R"("application": {"executable": "sh", "arguments": "-c 'exit 7'"})", {}, with)));
  CHECK(test::shell("sh " + (folder.path() / "job.sh").string()).code == 7);
}

TEST_CASE("what is built is built inside the container, by one process", "[request]") {
  const std::string members =
      run(R"("app_type": "mpi", "build": {"src": "https://example.org/me/code.git", "build_parallelism": 4,
             "build_command": "make -j {{BUILD_PARALLELISM}} && echo 'a b'"})",
          R"(, "job_options": {"node_count": 4, "job_name": "x"}, "target": {"job_scheduler_type": "slurm"})");
  const std::string text = tuner::build_script(deployed(members, image()));
  CHECK_THAT(text, ContainsSubstring("#SBATCH -N 1\n") && ContainsSubstring("#SBATCH -J x-build\n") &&
                       ContainsSubstring("pull \"$file\" docker://me/solver:2\n") &&
                       ContainsSubstring("git clone --recursive -- https://example.org/me/code.git ./code\n") &&
                       ContainsSubstring("exec \"$image\" /bin/sh -c 'make -j 4 && echo '\\''a b'\\'''\n"));
  CHECK_THAT(
      tuner::build_script(deployed(run(R"("build": {"src": "https://example.org/x.tar.gz", "build_command": "tar"})"))),
      ContainsSubstring("curl --fail --location --remote-name --url https://example.org/x.tar.gz\n/bin/sh -c tar\n"));
  CHECK(tuner::build_script(deployed(run(R"("app_type": "python")"))).empty());
  // Torque begins in the home folder.
  const std::string torque = run(R"("app_type": "mpi", "build": {"build_command": "make"})",
                                 R"(, "job_options": {}, "target": {"job_scheduler_type": "torque"})");
  CHECK_THAT(tuner::build_script(deployed(torque, image())),
             ContainsSubstring("set -eu\ncd -- \"${PBS_O_WORKDIR:-$PWD}\" || exit 5\n"));
  const std::string definition = tuner::definition_file(deployed(members, image()));
  CHECK_THAT(definition, ContainsSubstring("Bootstrap: docker\nFrom: me/solver:2\n") &&
                             ContainsSubstring("/bin/sh /opt/application/build.sh\n"));
}

TEST_CASE("no value of a request becomes a command", "[request]") {
  const test::TemporaryFolder folder;
  const auto marker = folder.path() / "marker";
  const std::string evil = test::hostile(marker.string());
  json application = {{"executable", "true"}, {"arguments", evil}, {"container_runtime", evil}, {"app_tag", evil}};
  json job = {{"application", application},
              {"job_options", {{"job_name", "x"}}},
              {"optimisation",
               {{"app_type-ai_training", {{"data", {{"location", evil}}}}},
                {"app_type-hpc", {{"parallelisation-openmp", {{"affinity", evil}}}}}}}};
  for (const char* runtime : {"", "podman", "docker", "charliecloud", "shifter", "apptainer"}) {
    const auto request = tuner::read_request(json{{"job", job}}.dump(), "job.json", false);
    REQUIRE(request);
    auto deployment = tuner::deployment_of(*request, {}, {}, {});
    REQUIRE(deployment);
    deployment->runtime = runtime;
    deployment->storage = {"file://" + evil, "default-high"};
    for (const std::string& text : {tuner::job_script(*deployment), tuner::build_script(*deployment)}) {
      test::make_file(folder.path() / "job.sh", text);
      CHECK(test::shell("bash -n " + (folder.path() / "job.sh").string()).code == 0);
      (void)test::shell("cd " + folder.path().string() + " && PATH=/usr/bin:/bin timeout 20 sh job.sh");
      CHECK_FALSE(std::filesystem::exists(marker));
    }
    test::make_file(folder.path() / "tune.sh", tuner::tuning_script(*request));
    CHECK(test::shell("bash -n " + (folder.path() / "tune.sh").string()).code == 0);
    (void)test::shell("cd " + folder.path().string() + " && NOCTURNE=false sh tune.sh");
    CHECK_FALSE(std::filesystem::exists(marker));
  }
}

TEST_CASE("no key of a request is read silently", "[request]") {
  const auto training = [](const std::string& members) {
    return R"("optimisation": {"app_type-ai_training": {)" + members + "}}";
  };
  for (const std::string& members :
       {training(R"("config": {"ai_framework": "pytorch", "type": "image_classification"})"),
        training(R"("config": {"distributed_training": true})"), training(R"("config": {"layers": 3})"),
        training(R"("config": {"parameters": 3})"), training(R"("data": {"basedata": "image"})"),
        training(R"("data": {"size": 3})"), training(R"("data": {"count": 3})"), training(R"("data": {"type": "x"})"),
        training(R"("data": {"etl": {"cache": true}})"),
        training(R"("config": {"ai_framework": "pytorch"}, "ai_framework-tensorflow": {"xla": true})"),
        std::string(R"("optimisation": {"autotuning": {"tuner": "create", "input": "x"}})"),
        std::string(R"("optimisation": {"hpc": {"parallelisation-opencl": {"compiler": "x"}}})")}) {
    CAPTURE(members);
    CHECK_FALSE(warnings_of(members).empty());
  }
  // They are kept with the answer.
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"application": {"executable": "./a"}, "optimisation": {
    "app_type-ai_training": {"config": {"layers": 3}}}}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("job").at("optimisation").at("app_type-ai_training").at("config").at("layers") == 3);
  CHECK(cli.json().at("job").at("job_script") == cli.json().at("job_script"));
}

TEST_CASE("what a request leaves open is a campaign, and what it demands is fixed", "[request]") {
  const tuner::OpenFrameworks here{
      .offers = {{.kind = tuner::Offer::Kind::Recipe,
                  .name = "tensorflow-2.1",
                  .labels = {.name = "tensorflow", .version = "2.1", .accelerator = "none", .offered = {"xla"}}},
                 {.kind = tuner::Offer::Kind::Installed,
                  .name = "pytorch-2.15",
                  .labels = {.name = "pytorch", .version = "2.15", .accelerator = "none", .offered = {"inductor"}}},
                 {.kind = tuner::Offer::Kind::Recipe,
                  .name = "pytorch-1.4",
                  .labels = {.name = "pytorch", .version = "1.4", .accelerator = "none", .offered = {"torchscript"}}}},
      .own = {"onednn"},
      .obstacle = {}};
  const auto campaign = [&](const std::string& framework, const std::string& section, const std::string& more = "") {
    auto open =
        tuner::open_campaign_of(read(R"("application": {"app_tag": "mnist_cnn", "executable": "x")" + more +
                                     R"(}, "optimisation": {"app_type-ai_training": {"config": {"ai_framework": ")" +
                                     framework + R"("}, "ai_framework-)" + framework + "\": {" + section + "}}}"),
                                here);
    return open ? open->document : json(open.error());
  };
  const auto parameter = [](const json& document, const char* name) {
    for (const json& each : document.at("space").at("parameters"))
      if (each.at("name") == name) return each;
    return json();
  };
  const json open = campaign("pytorch", "");
  CHECK(parameter(open, "framework").at("values") == json({"pytorch-2.15", "pytorch-1.4"}));
  CHECK(parameter(open, "graph_compiler").at("values") == json({"none", "inductor", "torchscript"}));
  CHECK(parameter(open, "threads").at("range") == json({1, "machine.cores"}));
  CHECK(parameter(open, "batch").at("values").size() == 4);
  CHECK(open.at("workload").at("network") == "mnist_cnn");
  CHECK(parameter(campaign("pytorch", R"("version": ">=2")", R"(, "threads": 2)"), "threads").at("values") ==
        json({2}));
  CHECK(parameter(campaign("pytorch", R"("version": ">=2")"), "framework").at("values") == json({"pytorch-2.15"}));
  CHECK(parameter(campaign("tensorflow", R"("xla": true)"), "graph_compiler").at("values") == json({"xla"}));
  CHECK(parameter(campaign("tensorflow", R"("xla": false)"), "graph_compiler").is_null());
  CHECK(campaign("pytorch", R"("version": "3")") == "no framework that this machine can have satisfies the request");
  // No framework is demanded: what is here already.
  const auto any = tuner::open_campaign_of(read(R"("application": {"app_tag": "mnist", "executable": "x"})"), here);
  REQUIRE(any);
  CHECK(parameter(any->document, "framework").at("values") == json({"pytorch-2.15", "onednn"}));
  CHECK(parameter(any->document, "graph_compiler").at("active_if") == "framework in ['pytorch-2.15']");
  // A command of one's own is tuned as it is.
  const auto own =
      tuner::open_campaign_of(read(R"("application": {"executable": "python3", "arguments": "t.py"})"), here);
  REQUIRE(own);
  CHECK(own->command == std::vector<std::string>{"python3", "t.py"});
  CHECK_FALSE(tuner::open_campaign_of(read(R"("optimisation": {})"), here));
}

TEST_CASE("without a budget the job tunes first and trains then", "[request]") {
  test::CliFixture cli;
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"job_options": {"wall_time_limit": "02:00:00"},
    "target": {"job_scheduler_type": "slurm"}, "application": {"app_tag": "mnist_cnn", "executable": "x"},
    "optimisation": {"enable_autotuning": true}}})");
  const auto written = cli.folder() / "answer";
  CHECK(cli.nocturne({"request", file.string(), "--write", written.string()}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("The job tunes first: 30min"));
  const std::string job = test::read_file(written / "job.sh");
  CHECK_THAT(job, ContainsSubstring("#SBATCH --exclusive\n") && ContainsSubstring("--tune --wall 30min --write") &&
                      ContainsSubstring("exec sh \"$folder/job.sh\""));
  CHECK(test::shell("bash -n " + (written / "job.sh").string()).code == 0);
  // What is written is a campaign file.
  CHECK(cli.nocturne({"space", (written / "campaign.json").string()}) == ExitCode::Ok);
}

TEST_CASE("accelerators of OpenACC and OpenCL are asked for", "[request]") {
  for (const char* section : {"openacc", "opencc", "opencl"}) {
    const auto deployment =
        deployed(run(R"("app_type": "hpc")", fmt::format(R"(, "optimisation": {{"hpc": {{"parallelisation-{}":
                                                          {{"number_of_acc": 3}}}}}})",
                                                         section)));
    CHECK(tuner::completed_options(deployment).at("request_gpus") == 3);
  }
}
