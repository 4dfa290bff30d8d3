// `nocturne tune FILE --each-class`, on a cluster whose commands are scripts.

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/fingerprint.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/cli/fake_worker_campaign.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/executor/order_json.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using cli::ExitCode;

space::Fingerprint machine_of(const std::string& model) {
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = model});
  return machine;
}

/// n1 and n2 of one class, n3 of another; n4 and n5 are busy, of n5 Slurm says what it says of no other.
class Cluster {
 public:
  Cluster() : path_(::getenv("PATH")) {
    ::setenv("PATH", (bin().string() + ":" + path_).c_str(), 1);
    auto document = fake_worker_campaign("computed");
    document["campaign"] = "evening";
    make_file(file(), document.dump(1));
    command("scancel", "");
    command("scontrol", "");
    command("squeue", "");
    command("sinfo",
            "cat <<'END'\n"
            "n1|idle|all*|up|infinite|8|4000|1:8:1|milan|(null)\n"
            "n2|idle|all*|up|infinite|8|4000|1:8:1|milan|(null)\n"
            "n3|idle|all*|up|infinite|8|4000|1:8:1|genoa|(null)\n"
            "n4|alloc|all*|up|infinite|8|4000|1:8:1|genoa|(null)\n"
            "n5|alloc|all*|up|infinite|8|4000|1:8:1|rome|(null)\nEND\n");
    std::string answers;
    for (const auto& [number, model] : {std::pair(1, "A"), std::pair(2, "A"), std::pair(3, "B")}) {
      const tuner::OrderAnswer answer{.machine = machine_of(model), .result = tuner::MachineAnswer{}};
      answers += fmt::format("{0}: node n{0}\n{0}: sees n1 n2 n3\n{0}: {1}\n", number, tuner::to_json(answer).dump());
    }
    command("srun", "cat <<'END'\n" + answers + "END\n");
    // Takes what no file forbids.
    command("sbatch", fmt::format("for script; do :; done\n"
                                  "while read -r word; do if grep -q -e \"$word\" \"$script\"; then\n"
                                  "  echo 'sbatch: error: invalid account' >&2; exit 1; fi; done < {0}/refused\n"
                                  "case $1 in --test-only) exit;; esac\necho 7$(grep -c submitted {0}/asked)\n"
                                  "echo submitted >> {0}/asked\n",
                                  cli.folder().string()));
    make_file(cli.folder() / "refused", "");
    make_file(cli.folder() / "asked", "");
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() { ::setenv("PATH", path_.c_str(), 1); }

  [[nodiscard]] fs::path bin() const { return cli.folder() / "bin"; }
  [[nodiscard]] fs::path file() const { return cli.folder() / "campaign.json"; }
  void command(const std::string& name, const std::string& script) const {
    make_file(bin() / name,
              fmt::format("#!/bin/sh\necho \"{} $*\" >> {}/asked\n{}", name, cli.folder().string(), script), true);
  }
  void refuse(const std::string& words) const { make_file(cli.folder() / "refused", words + "\n"); }
  /// The commands that were called, a line each.
  [[nodiscard]] std::string asked() const { return read_file(cli.folder() / "asked"); }
  [[nodiscard]] static std::string sister(const std::string& model) {
    return "evening-" + machine_of(model).key().substr(0, 6);
  }

  ExitCode tune(std::vector<std::string> words) {
    words.insert(words.begin(), {"tune", file().string(), "--each-class"});
    return cli.nocturne(words);
  }

  CliFixture cli;

 private:
  std::string path_;
};

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t number = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++number;
  return number;
}

}  // namespace

TEST_CASE("each class of nodes has a campaign of its own name, which keeps to its nodes", "[cli][slurm]") {
  Cluster cluster;
  REQUIRE(cluster.tune({"--print", "--nodes", "2", "--exclude", "x1", "--trials", "7"}) == ExitCode::Ok);
  CHECK_THAT(cluster.asked(), ContainsSubstring("srun ") && ContainsSubstring(" --nodes=1-3 ") &&
                                  ContainsSubstring(" --exclude=x1 ") && !ContainsSubstring("submitted"));
  const std::string printed = cluster.cli.out(), a = Cluster::sister("A"), b = Cluster::sister("B");
  const std::size_t second = printed.find("#!/bin/sh", 1);
  REQUIRE(second != std::string::npos);
  const std::string first_script = printed.substr(0, second), second_script = printed.substr(second);
  for (const std::string& script : {first_script, second_script}) {
    // One after the other: jobs of one name.
    CHECK_THAT(script, ContainsSubstring("#SBATCH --job-name=evening\n#SBATCH --nodes=2\n") &&
                           ContainsSubstring("#SBATCH --dependency=singleton\n"));
  }
  CHECK_THAT(first_script, ContainsSubstring("#SBATCH --exclude=x1,n3,n4,n5\n"));
  CHECK(first_script.ends_with(fmt::format(" --trials 7 --set '/campaign=\"{}\"'\n", a)));
  CHECK_THAT(first_script, !ContainsSubstring("each-class") && ContainsSubstring("/jobs/" + a + ".sh"));
  CHECK_THAT(second_script, ContainsSubstring("#SBATCH --exclude=x1,n1,n2,n5\n"));
  CHECK(second_script.ends_with(fmt::format(" --trials 7 --set '/campaign=\"{}\"'\n", b)));
  CHECK_THAT(cluster.cli.err(), ContainsSubstring(a + ": n1, n2\n") &&
                                    ContainsSubstring(b + ": n3, n4; cpu.model is 'B', not 'A'\n") &&
                                    ContainsSubstring("Of no class, for they were not idle: n5\n"));
}

TEST_CASE("a class that Slurm refuses does not keep the others from being submitted", "[cli][slurm]") {
  Cluster cluster;
  const std::string a = Cluster::sister("A"), b = Cluster::sister("B");
  REQUIRE(cluster.tune({"--nodes", "9"}) == ExitCode::Ok);
  CHECK(cluster.cli.out() == fmt::format("Submitted job 70 for 2 nodes: nocturne status {}\n"
                                         "Submitted job 71 for 2 nodes: nocturne status {}\n",
                                         a, b));
  CHECK_THAT(cluster.cli.err(), ContainsSubstring("They run one after the other"));
  CHECK(fs::exists(cluster.cli.data() / "jobs" / (b + ".sh")));

  cluster.refuse("/campaign=\"" + a);
  CHECK(cluster.tune({"--json"}) == ExitCode::Unavailable);
  CHECK_THAT(cluster.cli.err(), ContainsSubstring(a + " is not submitted, Slurm refuses the job: ") &&
                                    ContainsSubstring("invalid account"));
  const auto campaigns = cluster.cli.json()["campaigns"];
  REQUIRE(campaigns.size() == 2);
  CHECK(campaigns[0]["campaign"] == a);
  CHECK(campaigns[0]["job"].is_null());
  CHECK_THAT(campaigns[0]["refused"].get<std::string>(), ContainsSubstring("invalid account"));
  CHECK(campaigns[1]["job"] == "72");
  CHECK(campaigns[1]["nodes"] == 1);
  CHECK(campaigns[1]["on"] == nlohmann::json({"n3", "n4"}));
  CHECK(count(cluster.asked(), "submitted") == 3);
}

TEST_CASE("where no class can be known nothing is submitted", "[cli][slurm]") {
  Cluster cluster;
  SECTION("inside of a job") {
    cluster.cli.variables = {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n1"}, {"SLURMD_NODENAME", "n1"}};
    CHECK(cluster.tune({"--print"}) == ExitCode::Usage);
    CHECK_THAT(cluster.cli.err(), ContainsSubstring("--each-class submits jobs, and this is inside of job 7"));
  }
  SECTION("no node is idle") {
    cluster.command("sinfo", "echo 'n1|alloc|all*|up|infinite|8|4000|1:8:1|milan|(null)'\n");
    CHECK(cluster.tune({}) == ExitCode::Unavailable);
    CHECK_THAT(cluster.cli.err(), ContainsSubstring("no node is idle"));
  }
  SECTION("Slurm gives none") {
    cluster.command("srun", "echo 'srun: error: Unable to allocate resources: invalid qos' >&2; exit 1\n");
    CHECK(cluster.tune({}) == ExitCode::Unavailable);
    CHECK_THAT(cluster.cli.err(), ContainsSubstring("invalid qos"));
  }
  SECTION("none says what it is") {
    cluster.command("srun", "echo '0: node n1'; echo '0: sh: nocturne: not found' >&2\n");
    CHECK(cluster.tune({}) == ExitCode::Unavailable);
    CHECK_THAT(cluster.cli.err(), ContainsSubstring("n1 does not say what it is: sh: nocturne: not found") &&
                                      ContainsSubstring("no node says what it is"));
  }
  SECTION("the name would be too long") {
    CHECK(cluster.tune({"--set", "/campaign=" + std::string(58, 'x')}) == ExitCode::Usage);
    CHECK_THAT(cluster.cli.err(), ContainsSubstring("is too long for the name of a campaign"));
  }
  CHECK_THAT(cluster.asked(), !ContainsSubstring("sbatch"));
}

}  // namespace nocturne::test
