// `nocturne tune FILE` as a job of Slurm: what its script asks for, from the file and from options.

#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/cli/fake_worker_campaign.hpp"
#include "tests/tuner/deploy/shell.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

/// A campaign whose file asks for a job, and an infrastructure that is registered.
class Site {
 public:
  Site() {
    auto document = fake_worker_campaign("computed");
    document["executor"]["slurm"] = {{"nodes", 3}, {"partition", "cpu"}, {"qos", "night"}, {"time", "2h"}};
    make_file(file(), document.dump(1));
    cli.variables["XDG_CONFIG_HOME"] = (cli.folder() / "config").string();
    make_file(cli.folder() / "config/nocturne/infrastructures/hill.json", R"({"infrastructure": "hill",
      "scheduler": "slurm", "modules": ["module load gcc/13"], "shared_folder": "/nowhere",
      "partitions": {"day": {"nodes": 4, "default": true}}})");
  }
  [[nodiscard]] fs::path file() const { return cli.folder() / "campaign.json"; }

  ExitCode tune(std::vector<std::string> words) {
    words.insert(words.begin(), {"tune", file().string()});
    return cli.nocturne(words);
  }

  CliFixture cli;
};

}  // namespace

TEST_CASE("a file says what its job asks for, and options say otherwise", "[cli][slurm]") {
  Site site;
  REQUIRE(site.tune({"--print"}) == ExitCode::Ok);
  CHECK_THAT(site.cli.out(),
             ContainsSubstring("#SBATCH --nodes=3\n#SBATCH --exclusive\n#SBATCH --mem=0\n"
                               "#SBATCH --partition=cpu\n#SBATCH --qos=night\n#SBATCH --time=02:00:00\n"));
  REQUIRE(site.tune({"--print", "--nodes", "5", "--partition=gpu", "--exclude", "n[3-5]", "--time", "01:30:00",
                     "--trials", "7"}) == ExitCode::Ok);
  CHECK_THAT(site.cli.out(), ContainsSubstring("#SBATCH --nodes=5\n"));
  CHECK_THAT(site.cli.out(), ContainsSubstring("#SBATCH --partition=gpu\n#SBATCH --qos=night\n"
                                               "#SBATCH --exclude=n[3-5]\n#SBATCH --time=01:30:00\n"));
  // The command of the job is without them.
  CHECK(site.cli.out().ends_with(" tune " + site.file().string() + " --trials 7\n"));
}

TEST_CASE("a job runs on a registered cluster: its modules, its default partition", "[cli][slurm]") {
  Site site;
  REQUIRE(site.tune({"--print", "--cluster", "hill"}) == ExitCode::Ok);
  CHECK_THAT(site.cli.out(), ContainsSubstring("module load gcc/13\n"));
  CHECK_THAT(site.cli.out(), ContainsSubstring("#SBATCH --partition=cpu\n"));  // the file's
  CHECK_THAT(site.cli.err(), ContainsSubstring("is not below the folder that all nodes of 'hill' share"));
  REQUIRE(site.tune({"--print", "--set", "/executor/slurm={\"cluster\": \"hill\"}"}) == ExitCode::Ok);
  CHECK_THAT(site.cli.out(), ContainsSubstring("#SBATCH --partition=day\n"));
  CHECK(site.tune({"--print", "--cluster", "hil"}) == ExitCode::NotFound);
  CHECK_THAT(site.cli.err(), ContainsSubstring("--cluster: ") && ContainsSubstring("'hill'"));
  CHECK(site.tune({"--print", "--set", "/executor/slurm/cluster=local"}) == ExitCode::Usage);
  CHECK_THAT(site.cli.err(), ContainsSubstring("/executor/slurm/cluster: the infrastructure 'local' has no Slurm"));
}

TEST_CASE("a job names the folder of the nodes' own disks, unless a node does", "[cli][slurm]") {
  Site site;
  REQUIRE(site.tune({"--print", "--cluster", "hill"}) == ExitCode::Ok);
  CHECK_THAT(site.cli.out(), !ContainsSubstring("NOCTURNE_LOCAL_FOLDER"));
  make_file(site.cli.folder() / "config/nocturne/infrastructures/hill.json",
            R"({"infrastructure": "hill", "scheduler": "slurm", "local_folder": "/local disk"})");
  REQUIRE(site.tune({"--print", "--cluster", "hill"}) == ExitCode::Ok);
  const std::string script = site.cli.out();
  const auto line = script.find("[ -n \"${NOCTURNE_LOCAL_FOLDER+set}\" ]");
  REQUIRE(line != std::string::npos);
  const std::string ends = script.substr(line, script.find('\n', line) - line) + "; echo $NOCTURNE_LOCAL_FOLDER";
  CHECK(shell(ends).output == "/local disk\n");
  CHECK(shell("NOCTURNE_LOCAL_FOLDER=/ssd; " + ends).output == "/ssd\n");
  CHECK(shell("NOCTURNE_LOCAL_FOLDER=; " + ends).output == "\n");
}

TEST_CASE("what Slurm would not take is refused before it is asked", "[cli][slurm]") {
  Site site;
  CHECK(site.tune({"--print", "--gres", "gpu 1"}) == ExitCode::Usage);
  CHECK_THAT(site.cli.err(), ContainsSubstring("--gres: 'gpu 1' is no word that Slurm takes"));
  CHECK(site.tune({"--print", "--nodes", "0"}) == ExitCode::Usage);
  CHECK(site.tune({"--print", "--set", "/executor/slurm/nodes=0", "--set", "/executor/slurm/part=x"}) ==
        ExitCode::Usage);
  CHECK_THAT(site.cli.err(), ContainsSubstring("/executor/slurm/nodes") && ContainsSubstring("/executor/slurm/part"));
}

TEST_CASE("a job that is in no allocation does not submit the next one", "[cli][slurm]") {
  Site site;
  site.cli.variables["NOCTURNE_JOB_SCRIPT"] = "/shared/evening.sh";
  CHECK(site.tune({}) == ExitCode::Unavailable);
  CHECK_THAT(site.cli.err(), ContainsSubstring("this is a job's script, and it runs in no job of Slurm"));
}

TEST_CASE("only a step of a job watches its coordinator", "[cli][slurm]") {
  CliFixture cli;
  CHECK(cli.nocturne({"execute", "--watch", (cli.folder() / "beat").string()}) == ExitCode::Usage);
  CHECK_THAT(cli.err(), ContainsSubstring("this process is in no job of Slurm"));
}

TEST_CASE("options of a cluster go with the cluster", "[cli][slurm]") {
  Site site;
  CHECK(site.cli.nocturne({"doctor", "--partition", "cpu"}) == ExitCode::Usage);
  CHECK_THAT(site.cli.err(), ContainsSubstring("--cluster"));
  CHECK(site.cli.nocturne({"doctor", "--cluster", "hil"}) == ExitCode::NotFound);
  CHECK(site.cli.nocturne({"doctor", "--cluster", "local"}) == ExitCode::Usage);
}

}  // namespace nocturne::test
