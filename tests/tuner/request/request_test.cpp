#include "tuner/request/job_request.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <random>
#include <sstream>

#include <fmt/format.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/request/choose.hpp"
#include "tuner/request/job_script.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

namespace {

std::string problems_of(const std::string& text, bool strict = false) {
  const auto request = tuner::read_request(text, "job.json", strict);
  return request ? "" : tuner::to_text(request.error());
}

tuner::JobRequest read(const std::string& text) {
  auto request = tuner::read_request(text, "job.json", false);
  CAPTURE(text);
  if (!request) FAIL(tuner::to_text(request.error()));
  return *std::move(request);
}

/// The request with these members of job.
std::string job(const std::string& members) {
  return R"({"job": {)" + members + "}}";
}

std::string options(const std::string& members, const std::string& scheduler = "slurm") {
  return job(R"("job_options": {)" + members + R"(}, "target": {"job_scheduler_type": ")" + scheduler + "\"}");
}

std::string directives(const std::string& members, const std::string& scheduler) {
  const auto request = read(options(members, scheduler));
  return tuner::job_directives(request.job_options, request.scheduler());
}

/// What was measured answers.
tuner::Deployment trains(const std::string& text, const deploy::Profile& profile) {
  return {.request = read(text), .profile = profile};
}

}  // namespace

TEST_CASE("a request of every generation says the same", "[request]") {
  const char* latest = R"({"job": {
    "job_options": {"job_name": "train", "partition": "avx512"},
    "target": {"job_scheduler_type": "torque"},
    "application": {"app_tag": "mnist", "executable": "python3", "arguments": "train.py --epochs 3"},
    "optimisation": {"enable_opt_build": true, "app_type": "ai_training",
      "opt_build": {"cpu_type": "x86", "acc_type": "nvidia"},
      "app_type-ai_training": {"config": {"ai_framework": "tensorflow"},
        "ai_framework-tensorflow": {"version": "2.1", "xla": true}}}}})";
  const char* first = R"({"job": {
    "job_options": {"job_name": " train ", "architecture_constraint": "avx512", "account": "", "queue": "none"},
    "target": {"queue_type": "torque"},
    "application": {"app_name": "mnist", "executable": "python3", "arguments": "train.py --epochs 3",
      "arch_build": {"cpu_type": "Intelx86", "acc_type": "NVIDIA-V100"}},
    "optimization": {"enable_opt_build": true, "app_type": "ai_training",
      "ai_training": {"config": {"ai_framework": "tensorflow"}}, "tensorflow": {"version": "2.1 ", "xla": true}}}})";
  const char* middle = R"({"job": {
    "job_options": {"job_name": "train", "architecture_constraint": "avx512"},
    "target": {"queue_type": "TORQUE"},
    "application": {"app_tag": "mnist", "executable": "python3", "arguments": "train.py --epochs 3"},
    "optimization": {"enable_opt_build": true, "app_type": "ai_training",
      "opt_build": {"cpu_type": "x86", "acc_type": "Nvidia"},
      "ai_training": {"config": {"ai_framework": "tensorflow"}, "tensorflow": {"version": "2.1", "xla": true}}}}})";
  const auto expected = read(latest);
  for (const char* text : {first, middle}) {
    const auto request = read(text);
    CHECK(request.warnings.empty());
    CHECK(request.job_options == expected.job_options);
    CHECK(request.target == expected.target);
    CHECK(request.application == expected.application);
    CHECK(request.optimisation == expected.optimisation);
  }
  const auto demands = tuner::demands_of(expected);
  CHECK(demands.framework == "tensorflow");
  CHECK(demands.version == "2.1");
  CHECK(demands.xla == true);
  CHECK_FALSE(demands.ngraph);
  CHECK(demands.accelerator == "nvidia");
  CHECK(demands.workload == "mnist");
  CHECK(demands.words == std::vector<std::string>{"python3", "train.py", "--epochs", "3"});
}

TEST_CASE("what stood elsewhere for a year, and the editor's spelling, are read", "[request]") {
  const auto application = read(R"({"job": {"job_options": {"qos": "high"}, "target": {"queue_type": "slurm"},
    "application": {"app_name": "cp2k", "executable": "cp2k.psmp", "arch_build": {"cpu_type": "Intelx86"},
      "app_build": {"version": "7.1.0"}}}})");
  CHECK(application.warnings.empty());
  CHECK(application.job_options.at("qos") == "high");
  const auto demands = tuner::demands_of(application);
  CHECK(demands.workload == "cp2k");
  CHECK(demands.cpu == "x86");
  CHECK(demands.version == "7.1.0");
  CHECK_FALSE(demands.opt_build);  // nothing is asked of how it was built
  const auto editor = read(R"({"job": {"optimization": {"app_type": "hpc", "enable_opt_build": true,
    "app_type-hpc": {"config": {"parallelisation": "mpi"},
                     "parallelisation-mpi": {"library": "mvapch", "version": "2.2"}}}}})");
  CHECK(tuner::demands_of(editor).library == "mvapich");
  CHECK(tuner::demands_of(editor).library_version == "2.2");
  CHECK(tuner::demands_of(editor).opt_build == true);
  CHECK(tuner::demands_of(editor).hpc);
}

TEST_CASE("misspelt libraries and lists of one mean what they should", "[request]") {
  const auto request = read(job(R"("optimization": {"app_type": "HPC",
    "hpc": {"config": {"parallelisation": ["mpi"]}}, "mpi": {"library": "opnmpi", "version": "3.1"}})"));
  CHECK(request.optimisation.at("app_type") == "hpc");
  CHECK(request.optimisation.at("app_type-hpc").at("config").at("parallelisation") == "mpi");
  CHECK(request.optimisation.at("app_type-hpc").at("parallelisation-mpi").at("library") == "openmpi");
  const auto opencc = read(job(R"("optimisation": {"hpc": {"config": {"parallelisation": "opencc"},
    "parallelisation-opencc": {"compiler": "pgi"}}})"));
  CHECK(opencc.optimisation.at("app_type-hpc").at("config").at("parallelisation") == "openacc");
  CHECK(opencc.optimisation.at("app_type-hpc").contains("parallelisation-openacc"));
}

TEST_CASE("keras is a front end: its backend is what trains", "[request]") {
  const auto demands = [](const std::string& section) {
    return tuner::demands_of(
        read(job(R"("optimisation": {"app_type-ai_training": {"config": {"ai_framework": "keras"})" + section + "}}")));
  };
  CHECK(demands("").framework == "tensorflow");
  CHECK(demands(R"(, "ai_framework-keras": {"backend": "cntk", "version": "2.3"})").framework == "cntk");
  CHECK(demands(R"(, "ai_framework-keras": {"backend": "cntk", "version": "2.3"})").version.empty());
}

TEST_CASE("each job option becomes the directive of its scheduler", "[request]") {
  struct Row {
    const char *option, *slurm, *torque;
  };
  const Row rows[] = {
      {R"("job_name": "x")", "-J x", "-N x"},
      {R"("account": "x")", "-A x", "-A x"},
      {R"("queue": "x")", "--partition=x", "-q x"},
      {R"("partition": "x")", "-C x", "-l partition=x"},
      {R"("wall_time_limit": "30:30:00")", "--time=30:30:00", "-l walltime=30:30:00"},
      {R"("node_count": 3)", "-N 3", "-l nodes=3"},
      {R"("core_count": 3)", "-n 3", "-l procs=3"},
      {R"("process_count_per_node": 4)", "--ntasks-per-node=4", "-l nodes=1:ppn=4"},
      {R"("core_count_per_process": 4)", "--cpus-per-task=4", "-l nodes=1:ppn=4"},
      {R"("memory_limit": "4 GB")", "--mem=4G", "-l mem=4gb"},
      {R"("minimum_memory_per_processor": "1GB")", "--mem-per-cpu=1G", "-l pmem=1gb"},
      {R"("request_gpus": 2)", "--gres=gpu:2", "-l nodes=1:gpus=2"},
      {R"("request_specific_nodes": "n1,n2")", "--nodelist=n1,n2", "-l nodes=n1,n2"},
      {R"("job_array": "1,2,3")", "-a 1,2,3", "-t 1,2,3"},
      {R"("standard_output_file": "o.log")", "--output=o.log", "-o o.log"},
      {R"("standard_error_file": "e.log")", "--error=e.log", "-e e.log"},
      {R"("combine_stdout_stderr": true)", nullptr, "-j oe"},
      {R"("copy_environment": true)", "--export=ALL", "-V"},
      {R"("copy_environment_variable": "A,B")", "--export=A,B", "-v A,B"},
      {R"("job_dependency": "afterok:12")", "--dependency=afterok:12", "-W depend=afterok:12"},
      {R"("request_event_notification": "abe", "email_address": "a@b.c")", "--mail-type=FAIL,BEGIN,END", "-m abe"},
      {R"("email_address": "a@b.c")", "--mail-user=a@b.c", "-M a@b.c"},
      {R"("defer_job": "2030-01-01T10:00")", "--begin=2030-01-01T10:00", "-a 2030-01-01T10:00"},
      {R"("node_exclusive": true)", "--exclusive", "-l naccesspolicy=singlejob"},
      {R"("qos": "high")", "--qos=high", "-l qos=high"},
  };
  for (const auto& [option, slurm, torque] : rows) {
    CAPTURE(option);
    if (slurm != nullptr)
      CHECK_THAT(directives(option, "slurm"), ContainsSubstring(fmt::format("#SBATCH {}\n", slurm)));
    CHECK_THAT(directives(option, "torque"), ContainsSubstring(fmt::format("#PBS {}\n", torque)));
  }
  CHECK_THAT(directives(R"("node_count": 2, "process_count_per_node": 2, "request_gpus": 1, "queue": "q")", "torque"),
             ContainsSubstring("#PBS -l nodes=2:ppn=2:gpus=1:q\n"));
}

TEST_CASE("letters and words of mail events are turned into each other", "[request]") {
  CHECK(tuner::slurm_mail("abef") == "FAIL,BEGIN,END");
  CHECK(tuner::slurm_mail("n") == "NONE");
  CHECK(tuner::slurm_mail("BEGIN,TIME_LIMIT") == "BEGIN,TIME_LIMIT");
  CHECK(tuner::torque_mail("BEGIN,END,FAIL") == "bef");
  CHECK(tuner::torque_mail("ALL") == "abe");
  CHECK(tuner::torque_mail("REQUEUE") == "n");
  CHECK(tuner::torque_mail("abe") == "abe");
}

TEST_CASE("what is wrong with a request is said with place, what may stand there and the nearest name", "[request]") {
  const auto training = [](const std::string& members) {
    return job(R"("optimisation": {"app_type-ai_training": {)" + members + "}}");
  };
  const std::pair<std::string, const char*> rows[] = {
      {"{", "job.json:1"},
      {"[]", "an object"},
      {"{}", "key 'job' is missing"},
      {R"({"job": 3})", "/job: found 3"},
      {job(R"("job_options": [])"), "/job/job_options: found []"},
      {options(R"("node_count": 0)"), "/job/job_options/node_count: found 0; allowed: a whole number from 1"},
      {options(R"("node_count": "two")"), "/job/job_options/node_count"},
      {options(R"("node_count": 1.5)"), "/job/job_options/node_count"},
      {options(R"("request_gpus": -1)"), "/job/job_options/request_gpus"},
      {options(R"("wall_time_limit": "1 day, 0:10:00")"), "hours, minutes and seconds"},
      {options(R"("wall_time_limit": "10:99:00")"), "hours, minutes and seconds"},
      {options(R"("memory_limit": "much")"), "a size"},
      {options(R"("memory_limit": "1.5GB")"), "a size"},
      {options(R"("job_array": "a-b")"), "numbers and ranges"},
      {options(R"("email_address": "nobody")"), "an address"},
      {options(R"("request_event_notification": "xyz", "email_address": "a@b.c")"), "letters of Torque"},
      {options(R"("request_event_notification": "abe")"), "a notification without an address"},
      {options(R"("combine_stdout_stderr": false)"), "with it a standard_error_file"},
      {options(R"("job_name": "a b")"), "a word without spaces"},
      {options(R"("job_name": "x\n#SBATCH --uid=0")"), "a word without spaces"},
      {options(R"x("queue": "$(touch x)")x"), "a word without spaces"},
      {options(R"("account": "`id`")"), "a word without spaces"},
      {options(R"("copy_environment": "yes")"), "true or false"},
      {options("", "slurmm"), "Did you mean 'slurm'?"},
      {job(R"("target": {"name": "egi"})"), "no infrastructure 'egi' is registered; allowed: a name of"},
      {job(R"("application": {"executable": "x", "build": {"src": "https://a.org/b.git"}})"), "how it is built"},
      {job(R"("application": {"executable": "x", "build": {"src": "--upload-pack=x", "build_command": "make"}})"),
       "an address"},
      {job(R"("application": {"executable": "x", "mpi_ranks": 0})"), "a whole number from 1"},
      {job(R"("application": {"executable": "x", "storage_class_pref": "default-hig"})"),
       "Did you mean 'default-high'?"},
      {job(R"("optimisation": {"hpc": {"parallelisation-mpi": {"library": "openmp"}}})"), "Did you mean 'openmpi'?"},
      {job(R"("optimisation": {"enable_autotuning": "true"})"), "true or false"},
      {job(R"("application": {"app_tag": "x"})"), "neither an executable nor a container"},
      {job(R"("application": {"executable": "x", "app_type": "pyton"})"), "Did you mean 'python'?"},
      {job(R"("application": {"executable": "x", "minimal_efficiency": 1.5})"), "/job/application/minimal_efficiency"},
      {job(R"("optimisation": {"app_type": "big_data"})"), "big_data\" is out of scope"},
      {job(R"("optimisation": {"opt_build": {"acc_type": "nvidea"}})"), "Did you mean 'nvidia'?"},
      {training(R"("config": {"ai_framework": "tensorflo"})"), "Did you mean 'tensorflow'?"},
      {training(R"("ai_framework-pytorch": {"version": 2.1})"), "a version or a range as a text"},
      {training(R"("ai_framework-pytorch": {"version": "newest"})"), "a version or a range as a text"},
      {training(R"("ai_framework-tensorflow": {"xla": "yes"})"), "true or false"},
  };
  for (const auto& [text, expected] : rows) {
    CAPTURE(text);
    CHECK_THAT(problems_of(text), ContainsSubstring(expected));
    CHECK_THAT(problems_of(text), ContainsSubstring("job.json:"));
  }
  // Everything at once, in the order of the file.
  const std::string all = problems_of(options(R"("node_count": 0, "wall_time_limit": "x")", "torq"));
  CHECK(all.find("node_count") < all.find("wall_time_limit"));
  CHECK(all.find("wall_time_limit") < all.find("job_scheduler_type"));
}

TEST_CASE("a problem names what the file says, though its spelling is an older one", "[request]") {
  CHECK_THAT(problems_of("{\"job\": {\n \"optimization\": {\"tensorflow\": {\"xla\": 3}}}}"),
             ContainsSubstring("job.json:2:") && ContainsSubstring("/job/optimization/tensorflow/xla: found 3"));
}

TEST_CASE("an unknown key is a warning with the nearest name, and refused when strict", "[request]") {
  const std::string text = options(R"("node_cont": 2)");
  const auto request = read(text);
  REQUIRE(request.warnings.size() == 1);
  CHECK_THAT(tuner::to_text(request.warnings[0]), ContainsSubstring("/job/job_options/node_cont") &&
                                                      ContainsSubstring("is ignored") &&
                                                      ContainsSubstring("Did you mean 'node_count'?"));
  CHECK_FALSE(request.job_options.contains("node_cont"));
  CHECK_THAT(problems_of(text, true), ContainsSubstring("unknown key \"node_cont\"; allowed: "));
}

TEST_CASE("a request that was damaged is refused or read, whatever became of it", "[request]") {
  std::mt19937 random(7);
  const std::string seeds = NOCTURNE_SOURCE_DIR "/tests/fuzz/corpus/request/";
  int read_well = 0;
  for (const char* seed : {"earliest", "latest"}) {
    const std::string whole = test::read_file(seeds + seed);
    REQUIRE(tuner::read_request(whole, seed, false));
    for (int round = 0; round < 1500; ++round) {
      std::string text = whole;
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        const std::size_t at = random() % text.size(), from = random() % text.size();
        const std::size_t count = 1 + random() % 12;
        if (random() % 2 == 0)
          text.replace(at, count, text.substr(from, count));
        else
          text[at] = static_cast<char>(random() % 256);
      }
      const auto request = tuner::read_request(text, seed, false);
      if (!request) {
        CHECK_FALSE(request.error().empty());
        continue;
      }
      ++read_well;
      (void)tuner::demands_of(*request);
      for (const char* scheduler : {"slurm", "torque"}) {
        std::istringstream lines(tuner::job_directives(request->job_options, scheduler));
        for (std::string line; std::getline(lines, line);)
          CHECK((line.starts_with("#SBATCH ") || line.starts_with("#PBS ")));
      }
    }
  }
  CHECK(read_well > 50);
}

TEST_CASE("the example of a request says nothing that is not followed", "[request]") {
  const auto request = read(test::read_file(NOCTURNE_SOURCE_DIR "/examples/requests/mnist.json"));
  CHECK(request.warnings.empty());
  CHECK(tuner::demands_of(request).version == ">=2");
}

TEST_CASE("a version is in a range as it is named", "[request]") {
  for (const auto& [version, range] : {std::pair{"2.1", "2.1"},
                                       {"2.1.3", "2.1"},
                                       {"2.15", ">=2"},
                                       {"2.15", ">=2,<3"},
                                       {"2.1", "2.1.*"},
                                       {"1.14", "<2"},
                                       {"2.15", ">2.9"},
                                       {"2.1", "==2.1"},
                                       {"2.2", "!=2.1"},
                                       {"2", "<=2.0"}}) {
    CAPTURE(version, range);
    CHECK(tuner::is_version_in(version, range));
  }
  for (const auto& [version, range] : {std::pair{"2.15", "2.1"},
                                       {"2.1", "2.1.0"},
                                       {"3.0", ">=2,<3"},
                                       {"", "2"},
                                       {"12.1", "2.1"},
                                       {"2.1", "!=2.1"},
                                       {"2.15", "<=2"},
                                       {"1.9", ">1.10"}}) {
    CAPTURE(version, range);
    CHECK_FALSE(tuner::is_version_in(version, range));
  }
}

TEST_CASE("an empty file is said to be empty, without a picture of it", "[request]") {
  CHECK(problems_of("") == "job.json:1:1: the file is empty; allowed: one object in braces");
}

TEST_CASE("labels come from what a configuration was trained with", "[request]") {
  const auto labels_of = [](const char* framework, const space::Configuration& values) {
    return tuner::labels_of(tuner::labels_of_name(framework), values);
  };
  space::Configuration configuration;
  configuration.set("graph_compiler", std::string("none"));
  CHECK(labels_of("pytorch-2.15", configuration).name == "pytorch");
  CHECK(labels_of("pytorch-2.15", configuration).version == "2.15");
  CHECK(labels_of("pytorch-2.15", configuration).graph_compilers.empty());
  CHECK(labels_of("debian-pytorch-openblas", configuration).version.empty());
  CHECK(labels_of("tensorflow-2.21-cuda", configuration).accelerator == "nvidia");
  CHECK(labels_of("onednn", configuration).name == "onednn");
  configuration.set("graph_compiler", std::string("xla"));
  CHECK(labels_of("torch-xla-2.9", configuration).graph_compilers == std::vector<std::string>{"xla"});
}

TEST_CASE("what a configuration lacks of a request is a sentence", "[request]") {
  const tuner::Labels labels{.name = "tensorflow",
                             .version = "2.21",
                             .cpu = "amd",
                             .accelerator = "none",
                             .graph_compilers = {"xla"},
                             .offered = {"glow"}};
  tuner::Demands demands{.framework = "tensorflow", .version = ">=2", .xla = true, .accelerator = "none", .cpu = "x86"};
  CHECK(tuner::mismatch(labels, demands).empty());
  demands.xla = false;
  CHECK(tuner::mismatch(labels, demands) == "it is with xla, which is denied");
  demands.xla.reset();
  demands.ngraph = true;
  CHECK(tuner::mismatch(labels, demands) == "it is without ngraph, which is demanded");
  // What it only has may be demanded and denied.
  CHECK(tuner::mismatch(labels, {.glow = true}).empty());
  CHECK(tuner::mismatch(labels, {.glow = false}).empty());
  CHECK(tuner::mismatch(labels, {.framework = "pytorch"}) == "it is tensorflow, and pytorch is demanded");
  CHECK(tuner::mismatch(labels, {.version = "1.14"}) == "it is version 2.21, and 1.14 is demanded");
  CHECK(tuner::mismatch(labels, {.accelerator = "nvidia"}) == "its accelerator is none, and nvidia is demanded");
  CHECK(tuner::mismatch(labels, {.cpu = "arm"}) == "it is built for amd, and arm is demanded");
  CHECK(tuner::mismatch({.name = "x", .cpu = "x86"}, {.cpu = "amd"}) == "it is built for x86, and amd is demanded");
}

TEST_CASE("what a request leaves open comes from what was measured", "[request]") {
  deploy::Profile profile = test::sample_profile();
  profile.peak_bytes = std::int64_t{3000} << 20;
  const auto open = tuner::completed_options(trains(options(""), profile));
  CHECK(open.at("core_count_per_process") == 2);
  CHECK(open.at("memory_limit") == "3751M");
  CHECK(open.at("wall_time_limit") == "00:04:00");
  CHECK(open.at("standard_output_file") == "job.out");
  const auto named = tuner::completed_options(
      trains(options(R"("core_count_per_process": 8, "memory_limit": "1GB", "wall_time_limit": "01:00:00")"), profile));
  CHECK(named.at("core_count_per_process") == 8);
  CHECK(named.at("memory_limit") == "1GB");
  CHECK(named.at("wall_time_limit") == "01:00:00");
  CHECK_THAT(tuner::job_script(trains(options(R"("wall_time_limit": "01:00:00")"), profile)),
             ContainsSubstring("# The request asks for 01:00:00; the forecast's upper end is 00:04:00.\n"));
  // Without job options no batch system is meant.
  const auto plain = tuner::job_script(trains(job(R"("target": {"job_scheduler_type": "slurm"})"), profile));
  CHECK_FALSE(plain.contains("#SBATCH"));
}

TEST_CASE("a job script of a request is well formed, and no value of the profile becomes a command", "[request]") {
  const test::TemporaryFolder folder;
  const auto marker = folder.path() / "marker";
  for (const char* scheduler : {"slurm", "torque"}) {
    const auto text =
        tuner::job_script(trains(options(R"("job_name": "x")", scheduler), test::hostile_profile(marker.string())));
    test::make_file(folder.path() / "job.sh", text);
    CHECK(test::shell("bash -n " + deploy::shell_quote((folder.path() / "job.sh").string())).code == 0);
    CHECK(text.starts_with("#!/bin/sh\n#"));
  }
  CHECK_FALSE(std::filesystem::exists(marker));
}

TEST_CASE("a request is answered with the best known, the reason and a job script", "[request]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"job_options": {"job_name": "x"}, "target": {"job_scheduler_type": "slurm"},
    "application": {"app_tag": "mnist", "executable": "train"}}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("chosen").at("campaign") == "evening");
  CHECK(cli.json().at("chosen").at("trial") == 1);
  CHECK_THAT(cli.json().at("job_script").get<std::string>(), ContainsSubstring("#SBATCH -J x\n"));

  const auto written = cli.folder() / "answer";
  CHECK(cli.nocturne({"request", file.string(), "--write", written.string()}) == ExitCode::Ok);
  CHECK_THAT(cli.out(), ContainsSubstring("Demanded: workload mnist.") &&
                            ContainsSubstring("Chosen: trial 1 of campaign evening"));
  CHECK_THAT(test::read_file(written / "why.md"),
             ContainsSubstring("- image modak-test-ubuntu: it is test, and mnist is asked for"));
  for (const char* name : {"job.sh", "profile.json", "Dockerfile", "image.def", "why.md"})
    CHECK(std::filesystem::exists(written / name));
  CHECK(test::shell("sh -n " + (written / "job.sh").string()).code == 0);
}

TEST_CASE("a request that nothing measured answers is refused, with each campaign's reason and what to do",
          "[request]") {
  test::CliFixture cli;
  (void)test::fill(cli);
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"optimisation": {"app_type-ai_training":
    {"config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"version": ">=99"}}}}})");
  CHECK(cli.nocturne({"request", file.string()}) == ExitCode::NotFound);
  CHECK_THAT(cli.err(), ContainsSubstring("evening: it is ") && ContainsSubstring("and pytorch is demanded") &&
                            ContainsSubstring("nocturne tune FILE"));
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::NotFound);
  CHECK(cli.json().at("chosen").is_null());
  CHECK(cli.json().at("offer").is_null());
  CHECK(cli.nocturne({"request", "/nowhere/job.json"}) == ExitCode::Usage);
  test::make_file(file, R"({"job": {"target": {"job_scheduler_type": "slrum"}}})");
  CHECK(cli.nocturne({"request", file.string()}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("Did you mean 'slurm'?"));
}

TEST_CASE("what pairs left undecided is not preferred to the default, and that is said", "[request]") {
  test::CliFixture cli;
  (void)test::fill(cli, {.verdict_low = -0.1, .verdict_mean = -0.02, .verdict_high = 0.06});
  const auto file = cli.folder() / "job.json";
  test::make_file(file, R"({"job": {"application": {"app_tag": "mnist", "executable": "train"}}})");
  CHECK(cli.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(cli.json().at("chosen").at("trial") == 0);
  CHECK_THAT(cli.json().at("chosen").at("unproven").get<std::string>(),
             ContainsSubstring("the campaign's default is taken: trial 1 may be slower than the default"));
  // Where nobody compared them the best of single trials answers, and is not called proven.
  test::CliFixture other;
  (void)test::fill(other, {.verdict = false});
  CHECK(other.nocturne({"request", file.string(), "--json"}) == ExitCode::Ok);
  CHECK(other.json().at("chosen").at("trial") == 1);
  CHECK_THAT(other.json().at("chosen").at("unproven").get<std::string>(), ContainsSubstring("was not compared"));
}
