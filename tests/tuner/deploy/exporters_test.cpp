#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "measure/protocol/request.hpp"
#include "space/file_contents.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/deploy/training_request.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A profile whose program writes down how it was started.
struct ExportedScript {
  explicit ExportedScript(deploy::Profile from) : profile(std::move(from)) {
    profile.training.program = folder.path() / "the worker's=place" / "worker";
    profile.training.data_folder = folder.path() / "data \"set\"\\";
    fs::create_directories(profile.training.data_folder);
    test::make_file(profile.training.program,
                    "#!/bin/sh\n"
                    "printf '%s\\0' \"$@\" > arguments\n"
                    "env -0 > environment\n"
                    "exit 7\n",
                    true);
    script = folder.path() / "train.sh";
    test::make_file(script, deploy::export_sh(profile));
  }
  [[nodiscard]] test::ShellResult run(const std::string& words = "", const std::string& variables = "") const {
    return test::shell("cd " + deploy::shell_quote(folder.path().string()) + " && OUTPUT=out " + variables + " sh " +
                       deploy::shell_quote(script.string()) + " " + words + " 2>&1");
  }
  [[nodiscard]] fs::path out() const { return folder.path() / "out"; }
  [[nodiscard]] nlohmann::json request() const {
    return nlohmann::json::parse(test::read_file(out() / "request.json"));
  }
  [[nodiscard]] std::string environment() const { return test::read_file(out() / "environment"); }

  test::TemporaryFolder folder;
  deploy::Profile profile;
  fs::path script;
};

std::string variable(const std::string& file, const std::string& name) {
  return test::shell(". " + deploy::shell_quote(file) + "; printf %s \"$" + name + "\"").output;
}

}  // namespace

TEST_CASE("the list of exporters has no name twice", "[deploy]") {
  std::set<std::string_view> names;
  for (const deploy::Exporter& exporter : deploy::exporters()) {
    CHECK(names.insert(exporter.name).second);
    CHECK(deploy::find_exporter(exporter.name) == &exporter);
    CHECK_FALSE(exporter.summary.empty());
  }
  CHECK(deploy::find_exporter("yaml") == nullptr);
}

TEST_CASE("the exported JSON is the profile", "[deploy]") {
  const auto again = deploy::profile_from_json(nlohmann::json::parse(deploy::export_json(test::sample_profile())));
  REQUIRE(again);
  CHECK(*again == test::sample_profile());
}

TEST_CASE("exported variables come out of a shell as they were measured", "[deploy]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "p.env").string();
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {0, 1, 3};
  profile.launch.set["ODD"] = "it's \"$(odd)\" \\ \n second line";
  test::make_file(file, deploy::export_env(profile));
  CHECK(variable(file, "OMP_NUM_THREADS") == "2");
  CHECK(variable(file, "GLIBC_TUNABLES") == "glibc.malloc.hugetlb=1");
  CHECK(variable(file, "ODD") == "it's \"$(odd)\" \\ \n second line");
  CHECK(variable(file, "NOCTURNE_CPUS") == "0-1,3");
  CHECK(variable(file, "NOCTURNE_PARAMETER_PRECISION") == "bf16");
  CHECK(variable(file, "NOCTURNE_PARAMETER_HUGE_PAGES") == "true");
}

TEST_CASE("no value of a profile becomes a command in what is exported", "[deploy]") {
  const test::TemporaryFolder markers;
  const fs::path marker = markers.path() / "marker";
  const ExportedScript exported(test::hostile_profile(marker.string()));
  CHECK(test::shell("sh -n " + deploy::shell_quote(exported.script.string())).code == 0);
  const auto result = exported.run("--epochs 1");
  CAPTURE(result.output);
  CHECK(result.code == 7);
  CHECK_THAT(exported.environment(), ContainsSubstring("HOSTILE=" + test::hostile(marker.string())));
  CHECK(exported.request().at("workload").at("network") == test::hostile(marker.string()));

  const fs::path env = exported.folder.path() / "p.env";
  test::make_file(env, deploy::export_env(exported.profile));
  CHECK(variable(env.string(), "HOSTILE") == test::hostile(marker.string()));
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("job scripts ask for what was measured", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.peak_bytes = std::int64_t{3000} << 20;
  // 150.5 s, 0.25 s and 4.303 of Student's distribution: 151.6 s, so 3 minutes, and one to start.
  CHECK_THAT(deploy::export_slurm(profile), ContainsSubstring("#!/bin/sh\n"
                                                              "#SBATCH --job-name=mnist-evening\n"
                                                              "#SBATCH --output=mnist-evening-%j.log\n"
                                                              "#SBATCH --nodes=1\n"
                                                              "#SBATCH --ntasks=1\n"
                                                              "#SBATCH --cpus-per-task=2\n"
                                                              "#SBATCH --mem=3751M\n"
                                                              "#SBATCH --time=00:04:00\n#\n"));
  CHECK_THAT(deploy::export_torque(profile), ContainsSubstring("#!/bin/sh\n"
                                                               "#PBS -N mnist-evening\n"
                                                               "#PBS -j oe\n"
                                                               "#PBS -l nodes=1:ppn=2\n"
                                                               "#PBS -l mem=3751mb\n"
                                                               "#PBS -l walltime=00:04:00\n#\n"));
  profile.configuration.set("device", std::string("cuda"));
  profile.launch.cpus = {0, 1};
  profile.peak_bytes = 1 << 20;
  profile.estimate = space::Estimate{.value = 100.0 * 3600, .standard_error = 1, .runs = 1};
  const std::string slurm = deploy::export_slurm(profile);
  for (const char* line : {"--gres=gpu:1\n", "--exclusive\n", "--mem=258M\n", "--time=150:01:00\n"})
    CHECK_THAT(slurm, ContainsSubstring(std::string("#SBATCH ") + line));
  CHECK_THAT(deploy::export_torque(profile),
             ContainsSubstring("#PBS -l nodes=1:ppn=2:gpus=1\n") && ContainsSubstring("#PBS -n\n"));
  profile.estimate.reset();
  profile.peak_bytes.reset();
  CHECK_THAT(deploy::export_slurm(profile),
             !ContainsSubstring("--time") && !ContainsSubstring("--mem") && ContainsSubstring("No forecast"));
}

TEST_CASE("a job script is the script behind its directives, and no value becomes one", "[deploy]") {
  const test::TemporaryFolder markers;
  const fs::path marker = markers.path() / "marker";
  for (const char* format : {"slurm", "torque"}) {
    CAPTURE(format);
    ExportedScript exported(test::hostile_profile(marker.string()));
    exported.profile.campaign += "\n#SBATCH --uid=0\n#PBS -u root\n";
    const std::string text = deploy::find_exporter(format)->text(exported.profile);
    CHECK_THAT(text, !ContainsSubstring("\n#SBATCH --uid") && !ContainsSubstring("\n#PBS -u"));
    test::make_file(exported.script, text);
    CHECK(test::shell("bash -n " + deploy::shell_quote(exported.script.string())).code == 0);
    const auto result = exported.run("--epochs 1");
    CAPTURE(result.output);
    CHECK(result.code == 7);
    CHECK_THAT(exported.environment(), ContainsSubstring("HOSTILE=" + test::hostile(marker.string())));
    CHECK(exported.run("--help").output.starts_with("Use: "));
  }
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("the exported script is well formed", "[deploy]") {
  const test::TemporaryFolder folder;
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {0, 1};
  profile.launch.preload = {"/usr/lib/libjemalloc.so.2"};
  test::make_file(folder.path() / "train.sh", deploy::export_sh(profile));
  const std::string script = deploy::shell_quote((folder.path() / "train.sh").string());
  CHECK(test::shell("sh -n " + script).code == 0);
  // 127: this machine has no shellcheck.
  const auto checked = test::shell("command -v shellcheck >/dev/null || exit 127; shellcheck -s sh " + script);
  CAPTURE(checked.output);
  CHECK((checked.code == 0 || checked.code == 127));
}

TEST_CASE("the exported script starts the worker as it was measured", "[deploy]") {
  ExportedScript exported(test::sample_profile());
  const auto result = exported.run("", "GOMP_CPU_AFFINITY=0 OMP_NUM_THREADS=64");
  CAPTURE(result.output);
  CHECK(result.code == 7);  // the worker's own
  CHECK_THAT(result.output, ContainsSubstring("results: " + (exported.out() / "events.jsonl").string()));
  const std::string environment = exported.environment();
  CHECK_THAT(environment, ContainsSubstring("OMP_NUM_THREADS=2"));
  CHECK(environment.find("GOMP_CPU_AFFINITY=") == std::string::npos);
  const std::string words = test::read_file(exported.out() / "arguments");
  CHECK(words == std::string("--quiet") + '\0' + "--request" + '\0' + (exported.out() / "request.json").string() +
                     '\0' + "--events" + '\0' + (exported.out() / "events.jsonl").string() + '\0');

  // The worker reads the request that training_request() describes.
  const protocol::Request read = protocol::parse_request(exported.request());
  CHECK(protocol::to_json(read) == protocol::to_json(deploy::training_request(exported.profile)));
}

TEST_CASE("epochs, steps, seed and data of the exported script can be chosen", "[deploy]") {
  const ExportedScript exported(test::sample_profile());
  CHECK(exported.run("--epochs 3", "SEED=9").code == 7);
  CHECK(exported.request().at("epochs") == 3);
  CHECK(exported.request().at("seed") == 9);
  CHECK(exported.request().at("accuracy") == true);
  CHECK(exported.run("", "EPOCHS=4").code == 7);
  CHECK(exported.request().at("epochs") == 4);
  CHECK(exported.run("--epochs=5").code == 7);
  CHECK(exported.request().at("epochs") == 5);

  const fs::path other = exported.folder.path() / "other";
  fs::create_directories(other);
  CHECK(exported.run("", "STEPS=25 DATA=other").code == 7);
  const protocol::Request request = protocol::parse_request(exported.request());
  CHECK(request.steps == 25);
  CHECK(request.epochs == 0);
  CHECK_FALSE(request.accuracy);
  CHECK(request.data_folder == other.string());
  CHECK(request.configuration == exported.profile.configuration.to_json());
}

TEST_CASE("the exported script refuses what it cannot do, with a sentence", "[deploy]") {
  ExportedScript exported(test::sample_profile());
  for (const char* number : {"x", "-1", "1.5", "''", "'1;id'", "007"}) {
    CAPTURE(number);
    const auto result = exported.run(std::string("--epochs ") + number);
    CHECK(result.code == 2);
  }
  CHECK(exported.run("--epochs").code == 2);
  CHECK(exported.run("--epochs 0").code == 2);
  CHECK(exported.run("--epoch 1").code == 2);
  CHECK(exported.run("--help").code == 0);
  CHECK_THAT(exported.run("--help").output, ContainsSubstring("EPOCHS"));
  CHECK_FALSE(fs::exists(exported.out()));

  const auto no_data = exported.run("", "DATA=/nowhere/at/all");
  CHECK(no_data.code == 5);
  CHECK_THAT(no_data.output, ContainsSubstring("/nowhere/at/all"));
  fs::remove(exported.profile.training.program);
  const auto no_program = exported.run();
  CHECK(no_program.code == 5);
  CHECK_THAT(no_program.output, ContainsSubstring("is missing"));
}

TEST_CASE("the exported script binds the worker to the CPUs that were measured", "[deploy]") {
  const auto allowed = test::shell("taskset -cp $$ | sed 's/.*: //; s/[-,].*//'");
  if (allowed.code != 0 || allowed.output.empty()) SKIP("taskset is missing");
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {std::stoi(allowed.output)};
  ExportedScript exported(profile);
  test::make_file(exported.profile.training.program, "#!/bin/sh\ntaskset -cp $$ | sed 's/.*: //' > cpus\n", true);
  CHECK(exported.run().code == 0);
  CHECK(test::read_file(exported.out() / "cpus") == allowed.output);
}

TEST_CASE("the exported script puts the worker's memory where it was measured, and says what it needs for that",
          "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  CHECK_FALSE(deploy::export_sh(profile).contains("numactl"));
  profile.launch.cpus = {0};
  profile.launch.memory = {.mode = "interleave", .nodes = {0, 1}};
  const std::string script = deploy::export_sh(profile);
  CHECK_THAT(script, ContainsSubstring("exec taskset -c 0 numactl --interleave=0,1 \"$program\""));
  CHECK_THAT(script, ContainsSubstring("fail 'numactl is missing (package numactl)' 5\n"));
  CHECK_THAT(deploy::export_changes(profile),
             ContainsSubstring("# before the command: taskset -c 0 numactl --interleave=0,1\n"));
  CHECK_THAT(deploy::export_env(profile), ContainsSubstring("numactl --interleave=0,1\n"));
}

namespace {

/// A training of the user's own, whose levers are pulled.
deploy::Profile changed_script(const fs::path& folder) {
  deploy::Profile profile = test::sample_profile();
  profile.configuration = {};
  profile.configuration.set("autocast", std::string("bf16"));
  profile.configuration.set("compile", std::string("script"));
  profile.training.own_command = {
      {"template", {"sh", "-c", "echo path $PYTHONPATH; echo lever $NOCTURNE_LEVER_AUTOCAST"}},
      {"folder", folder.string()},
      {"levers",
       {{"autocast",
         {{"variable", "NOCTURNE_LEVER_AUTOCAST"},
          {"changes", "precision"},
          {"lines", {{"bf16", "with torch.autocast('cpu', torch.bfloat16):"}}}}},
        {"compile", {{"variable", "NOCTURNE_LEVER_COMPILE"}, {"changes", "rounding"}}}}}};
  profile.launch.set["NOCTURNE_LEVER_AUTOCAST"] = "bf16";
  profile.launch.set["NOCTURNE_LEVER_COMPILE"] = "script";
  profile.effects = {{"autocast", "script would be 33 % slower than bf16 (20 to 45 %)"}};
  return profile;
}

}  // namespace

TEST_CASE("the lines for the user's own script say what each changes and what it is worth", "[deploy]") {
  const std::string text = deploy::export_changes(changed_script("/folder"));
  CHECK_THAT(text, ContainsSubstring("# autocast = bf16; may change: precision\n"
                                     "#   script would be 33 % slower than bf16 (20 to 45 %)\n"
                                     "with torch.autocast('cpu', torch.bfloat16):\n"));
  CHECK_THAT(text, ContainsSubstring("export OMP_NUM_THREADS=2"));
  CHECK_THAT(text, !ContainsSubstring("export NOCTURNE_LEVER"));
  CHECK_THAT(text, !ContainsSubstring("compile"));
}

TEST_CASE("a number of threads that replaces the script's own is a line for the script, and needs the module",
          "[deploy]") {
  deploy::Profile profile = changed_script("/folder");
  for (const char* lever : {"AUTOCAST", "COMPILE"})
    profile.launch.set[fmt::format("NOCTURNE_LEVER_{}", lever)] = "script";
  CHECK_FALSE(deploy::pulls_levers(profile));
  CHECK_THAT(deploy::export_changes(profile), !ContainsSubstring("set_num_threads"));
  profile.configuration.set("threads", std::int64_t{2});
  profile.launch.set["NOCTURNE_LEVER_THREADS"] = "2";
  CHECK(deploy::pulls_levers(profile));
  CHECK_THAT(deploy::export_changes(profile),
             ContainsSubstring("# threads = 2, in place of what it, or what starts it, sets; may change: rounding\n"
                               "torch.set_num_threads(2)\n"));
}

TEST_CASE("what is exported of a command of the user's own names no words that the command does not have", "[deploy]") {
  const auto own = changed_script("/folder");
  for (const auto& written : {deploy::export_sh, deploy::export_slurm, deploy::export_torque, deploy::export_dockerfile,
                              deploy::export_charliecloud, deploy::export_apptainer, deploy::export_shifter}) {
    const std::string text = written(own);
    CAPTURE(text);
    CHECK_THAT(text, !ContainsSubstring("--epochs") && !ContainsSubstring("EPOCHS=") &&
                         !ContainsSubstring("Trains " + own.workload.network));
  }
  CHECK_THAT(deploy::export_slurm(own), ContainsSubstring("FILE [ARGUMENT...]\n"));
  CHECK_THAT(deploy::export_slurm(test::sample_profile()), ContainsSubstring("FILE [--epochs N]\n"));
}

TEST_CASE("the script of an unchanged training carries the module and puts it in front of Python", "[deploy]") {
  const test::TemporaryFolder folder;
  auto profile = changed_script(folder.path());
  REQUIRE(deploy::pulls_levers(profile));
  profile.module = {{"sitecustomize.py", "print('it''s $HOME `x`')\n"}, {"part/two words.py", "no newline"}};
  const fs::path script = folder.path() / "train.sh";
  test::make_file(script, deploy::export_sh(profile));
  const std::string cache = (folder.path() / "cache of mine").string();
  const std::string start =
      "XDG_CACHE_HOME=" + deploy::shell_quote(cache) + " sh " + deploy::shell_quote(script.string());
  for (int start_number = 0; start_number < 2; ++start_number) {
    const auto run = test::shell(start);
    CHECK(run.code == 0);
    CHECK_THAT(run.output, ContainsSubstring("path " + cache + "/nocturne/inject-"));
    CHECK_THAT(run.output, ContainsSubstring("lever bf16"));
  }
  std::vector<fs::path> unpacked;
  for (const auto& entry : fs::directory_iterator(fs::path(cache) / "nocturne")) unpacked.push_back(entry.path());
  REQUIRE(unpacked.size() == 1);
  CHECK(test::read_file(unpacked[0] / "sitecustomize.py") == profile.module["sitecustomize.py"]);
  CHECK(test::read_file(unpacked[0] / "part/two words.py") == "no newline\n");
  CHECK_THAT(deploy::export_env(profile), ContainsSubstring("a module in front of Python"));
  profile.launch.set["NOCTURNE_LEVER_AUTOCAST"] = "script";
  CHECK_FALSE(deploy::pulls_levers(profile));
  CHECK_THAT(deploy::export_env(profile), !ContainsSubstring("module in front"));
}

namespace {

/// A training whose module finds it slow wherever it may fall back: its steps are none of a script's.
deploy::Profile watched_script(const fs::path& folder) {
  auto profile = changed_script(folder);
  profile.training.own_command["template"] = {
      "sh", "-c",
      "if [ \"$NOCTURNE_WATCH_FALL_BACK\" ]; then : > \"$NOCTURNE_WATCH_FALL_BACK\"; exit 1; fi; cat; "
      "echo \"measured $1 $NOCTURNE_WATCH $NOCTURNE_WATCH_LOG <$OMP_NUM_THREADS>\"; exit 7",
      "sh"};
  profile.step = deploy::StepForecast{.seconds = 0.25, .sd = 0, .degrees = 4, .processes = 3};
  profile.module = {{"sitecustomize.py", "\n"}};
  auto of_default = profile;
  of_default.training.own_command["template"] = {"sh", "-c", "echo default $1 \"<$OMP_NUM_THREADS>$NOCTURNE_WATCH\"",
                                                 "sh"};
  of_default.launch.set = {{"OMP_NUM_THREADS", "1"}};
  of_default.step->seconds = 0.5;
  profile.of_default.push_back(std::move(of_default));
  return profile;
}

test::ShellResult run_watched(const deploy::Profile& profile, const fs::path& folder, const std::string& variables) {
  test::make_file(folder / "train.sh", deploy::export_sh(profile));
  return test::shell("cd " + folder.string() + "; export TMPDIR=" + folder.string() +
                     " XDG_CACHE_HOME=" + folder.string() + "/cache NOCTURNE_DATA=/data; " + variables +
                     " sh train.sh 'an argument' 2>&1 < train.txt");
}

}  // namespace

TEST_CASE("the script of an unchanged training watches and falls back where it is asked to", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.txt", "its input\n");
  const auto profile = watched_script(folder.path());
  const auto plain = run_watched(profile, folder.path(), "");
  CHECK(plain.code == 7);
  CHECK(plain.output == "its input\nmeasured an argument   <2>\n");

  const auto watched = run_watched(profile, folder.path(), "WATCH=1");
  CHECK(watched.code == 7);
  CHECK_THAT(watched.output, ContainsSubstring("its input") && ContainsSubstring("/data/deployments <2>") &&
                                 ContainsSubstring(R"("default_limit_s":0.5,"expected_s":0.25,"limit_s":0.25)") &&
                                 ContainsSubstring(R"("profile":"mnist-evening")"));

  const auto fell_back = run_watched(profile, folder.path(), "FALL_BACK=1");
  CHECK(fell_back.code == 0);
  CHECK(fell_back.output == "default an argument <1>\n");
  // Nothing of the watch is left.
  for (const auto& entry : fs::directory_iterator(folder.path()))
    CHECK_FALSE(entry.path().filename().string().starts_with("tmp."));

  auto alone = profile;
  alone.of_default.clear();
  CHECK(run_watched(alone, folder.path(), "FALL_BACK=1").code == 7);
  alone.step.reset();
  CHECK_THAT(deploy::export_sh(alone), !ContainsSubstring("{WATCH"));
}

TEST_CASE("a signal to a watched script reaches the training, whose status is the script's", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.txt", "");
  auto profile = watched_script(folder.path());
  profile.training.own_command["template"] = {"sh", "-c",
                                              "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"};
  CHECK(run_watched(profile, folder.path(), "WATCH=1").code == 9);
}

TEST_CASE("no value of a watched profile becomes a command", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.txt", "");
  const fs::path marker = folder.path() / "marker";
  const std::string text = test::hostile(marker.string());
  auto profile = watched_script(folder.path());
  profile.campaign = text;
  profile.training.sources["/" + text] = text;
  profile.measured_on.machine.set({.name = "cpu.model", .value = text, .match = space::Match::Must});
  profile.launch.set[text] = profile.launch.set["HOSTILE"] = text;
  auto& of_default = profile.of_default.front();
  of_default.launch.set[text] = of_default.launch.set["HOSTILE"] = text;
  of_default.launch.unset = {text};
  of_default.training.own_command["template"].push_back(text);
  CHECK(run_watched(profile, folder.path(), "WATCH=1").code == 7);
  CHECK(run_watched(profile, folder.path(), "FALL_BACK=1").code == 0);
  CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("the script of an edited training says so, and trains", "[deploy]") {
  const test::TemporaryFolder folder;
  test::make_file(folder.path() / "train.txt", "");
  test::make_file(folder.path() / "it's.py", "pass\n");
  auto profile = watched_script(folder.path());
  test::make_file(folder.path() / "model.py", "pass\n");
  for (const char* name : {"it's.py", "model.py"})
    profile.training.sources[folder.path() / name] = *space::sha256_of_file(folder.path() / name);
  CHECK_THAT(run_watched(profile, folder.path(), "").output, !ContainsSubstring("was edited"));
  test::make_file(folder.path() / "it's.py", "pass  # edited\n");
  const auto edited = run_watched(profile, folder.path(), "");
  CHECK(edited.code == 7);
  CHECK_THAT(edited.output, ContainsSubstring("it's.py was edited since it was measured; nocturne verify PROFILE") &&
                                !ContainsSubstring("model.py was edited"));
  test::make_file(folder.path() / "model.py", "pass  # edited\n");
  CHECK_THAT(run_watched(profile, folder.path(), "").output,
             ContainsSubstring("it's.py was edited") && ContainsSubstring("model.py was edited"));
}

TEST_CASE("the module's files are found where it is installed", "[deploy]") {
  const auto files = deploy::module_files(fs::path(NOCTURNE_SOURCE_DIR) / "kernels");
  CHECK(files.contains("sitecustomize.py"));
  CHECK(files.contains("nocturne_steps.py"));
  CHECK(files.contains("nocturne_inject/levers/__init__.py"));
  CHECK(deploy::module_files("/nowhere").empty());
}
