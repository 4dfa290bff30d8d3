#include "tuner/doctor/cluster_checks.hpp"

#include <cstddef>
#include <expected>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tuner/doctor/node_classes.hpp"
#include "tuner/executor/order_json.hpp"

using namespace nocturne;
using namespace nocturne::tuner;
using Catch::Matchers::ContainsSubstring;

namespace {

// As sinfo 22.05 prints them.
constexpr const char* kNodes =
    "n1|idle|all*|up|infinite|64|256000|2:32:1|avx512|(null)\n"
    "n1|idle|short|up|1:00:00|64|256000|2:32:1|avx512|(null)\n"
    "n2|mix|all*|up|infinite|64|256000|2:32:1|avx512|(null)\n"
    "n3|down*|all*|up|infinite|64|256000|2:32:1|avx512|(null)\n"
    "g1|idle|gpu|up|2-00:00:00|32|512000|1:32:1|(null)|gpu:a100:4\n";

/// A node that sees all of the others. `model`: of its processor.
NodeAnswer answer(const std::string& node, const std::string& model = "A", const std::string& kernel = "6.1") {
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = model});
  machine.set({.name = "system.kernel", .value = kernel, .match = space::Match::Verify});
  return {.node = node, .sees = {"n1", "n2", "n3"}, .seen_here = true, .machine = machine};
}

}  // namespace

TEST_CASE("nodes and partitions are read from what sinfo prints", "[doctor][slurm]") {
  const Cluster cluster = cluster_from_sinfo(kNodes);
  REQUIRE(cluster.nodes.size() == 4);
  CHECK(cluster.nodes[0].partitions == std::vector<std::string>{"all", "short"});
  CHECK(cluster.nodes[0].cpus == 64);
  CHECK(cluster.nodes[0].gres.empty());
  CHECK(cluster.nodes[3].gres == "gpu:a100:4");
  REQUIRE(cluster.partition("") != nullptr);
  CHECK(cluster.partition("")->name == "all");
  CHECK(cluster.partition("gpu")->longest == "2-00:00:00");
  CHECK(cluster.partition("al") == nullptr);
  CHECK(cluster.nodes_of("").size() == 3);
  CHECK(cluster.nodes_of("gpu").size() == 1);
  CHECK(cluster.nodes_of("al").empty());
  CHECK(cluster_from_sinfo("slurm_load_partitions: Unable to contact\n").nodes.empty());
  const auto settings = settings_from_scontrol(
      "Configuration data as of x\nMaxStepCount            = 40000\nAuthInfo = a=b\n"
      "JobCompLoc              = \n");
  CHECK(settings.at("MaxStepCount") == "40000");
  CHECK(settings.at("AuthInfo") == "a=b");
  CHECK(settings.at("JobCompLoc").empty());
}

TEST_CASE("commands that are missing or too old are said", "[doctor][slurm]") {
  CHECK(check_slurm_commands({}, "slurm-wlm 22.05.8").health == Health::Good);
  CHECK(check_slurm_commands({}, "slurm 20.11.1").health == Health::Good);
  CHECK(check_slurm_commands({}, "slurm 20.02.7").health == Health::Bad);
  CHECK(check_slurm_commands({}, "").health == Health::Good);
  const Diagnosis missing = check_slurm_commands({"sbatch", "srun"}, "");
  CHECK(missing.health == Health::Bad);
  CHECK(missing.found == "not on PATH: sbatch, srun");
  CHECK(missing.packages == std::vector<std::string>{"slurm-client"});
}

TEST_CASE("nodes that are down, and nodes of several kinds, are notes; none is bad", "[doctor][slurm]") {
  const Cluster cluster = cluster_from_sinfo(kNodes);
  const Diagnosis nodes = check_cluster_nodes(cluster.nodes_of(""));
  CHECK(nodes.health == Health::Note);
  CHECK(nodes.found == "3, 1 of them idle");
  CHECK_THAT(nodes.meaning, ContainsSubstring("n3 (down*)"));
  CHECK(check_cluster_nodes(cluster.nodes_of("gpu")).health == Health::Good);
  CHECK(check_cluster_nodes({}).health == Health::Bad);
  CHECK(check_node_kinds(cluster.nodes_of("")).health == Health::Good);
  const Diagnosis kinds = check_node_kinds(cluster.nodes);
  CHECK(kinds.health == Health::Note);
  CHECK(kinds.found == "1 × 32 CPUs (1:32:1), 512000 MB, gpu:a100:4; 3 × 64 CPUs (2:32:1), 256000 MB, avx512");
}

TEST_CASE("limits of jobs are said, and where Slurm does not enforce them", "[doctor][slurm]") {
  const Cluster cluster = cluster_from_sinfo(kNodes);
  const SlurmSettings lax = {{"EnforcePartLimits", "NO"}}, strict = {{"EnforcePartLimits", "ALL"}};
  CHECK(check_job_limits(lax, cluster.partition("all")).health == Health::Good);
  CHECK(check_job_limits(strict, cluster.partition("gpu")).health == Health::Good);
  const Diagnosis unenforced = check_job_limits(lax, cluster.partition("gpu"));
  CHECK(unenforced.health == Health::Note);
  CHECK_THAT(unenforced.meaning, ContainsSubstring("--time 2-00:00:00 at most"));
  const Diagnosis few = check_job_limits({{"MaxStepCount", "100"}}, nullptr);
  CHECK(few.health == Health::Note);
  CHECK_THAT(few.found, ContainsSubstring("100 steps at most"));
  CHECK(check_requeue(true).health == Health::Good);
  CHECK_THAT(check_requeue(false).meaning, ContainsSubstring("dependent job"));
  CHECK_THAT(check_requeue(std::unexpected("Invalid account")).found, ContainsSubstring("Invalid account"));
}

TEST_CASE("a data folder that a node does not see, or not in time, is bad", "[doctor][slurm]") {
  auto answers = std::vector{answer("n1"), answer("n2"), answer("n3")};
  CHECK(check_sharing(answers, "/shared").health == Health::Good);
  answers[1].sees.erase("n3");
  CHECK(check_sharing(answers, "/shared").health == Health::Bad);
  CHECK_THAT(check_sharing(answers, "/shared").found, ContainsSubstring("n3 on n2"));
  answers[1] = answer("n2");
  answers[0].seen_here = false;
  CHECK_THAT(check_sharing(answers, "/shared").found, ContainsSubstring("n1 here"));
  answers[2].sees_folder = false;
  CHECK(check_sharing(answers, "/shared").found == "/shared is not on n3");
}

TEST_CASE("nodes are told apart by what must match, and compared by what may change times", "[doctor][slurm]") {
  auto answers = std::vector{answer("n1"), answer("n2"), answer("n3", "B", "6.2")};
  CHECK(classes_of(answers) == std::vector<std::size_t>{1, 1, 2});
  CHECK(check_classes(answers).found == "n1, n2 | n3");
  CHECK_THAT(check_classes(answers).meaning, ContainsSubstring("on n3 cpu.model is 'B', not 'A'"));
  CHECK(check_likeness(answers).found == "on n3 system.kernel is '6.2', not '6.1'");
  answers.pop_back();
  CHECK(check_classes(answers).health == Health::Good);
  CHECK(check_likeness(answers).health == Health::Good);
  answers[0].machine.reset();
  answers[0].reason = "execve(): No such file or directory";
  CHECK(classes_of(answers) == std::vector<std::size_t>{0, 1});
  CHECK(check_program_on_nodes(answers).health == Health::Note);
  answers[1].machine.reset();
  CHECK(check_program_on_nodes(answers).health == Health::Bad);
  CHECK_THAT(check_program_on_nodes(answers).found, ContainsSubstring("n1: execve()"));
  CHECK(check_classes(answers).health == Health::Note);
}

TEST_CASE("a node without a folder on its own disk is named", "[doctor][slurm]") {
  const std::string printed =
      "0: node n1\n0: disk 5000\n1: node n2\n1: disk none\n2: node n3\n3: node n4\n3: disk 700\n";
  const auto answers = read_node_answers(printed, "", 0, 1);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0].local_free_mb == 5000);
  const Diagnosis good = check_local_folders({answers[0], answers[3]});
  CHECK(good.health == Health::Good);
  CHECK(good.found == "on each of 2 nodes; 700 MB are free on n4");
  const Diagnosis useless = check_local_folders({answers[0], answers[1]});
  CHECK(useless.health == Health::Note);
  CHECK(useless.found == "cannot be written on n2");
  CHECK(check_local_folders({answers[0], answers[2]}).found == "none is named on n3");
  const Diagnosis nameless = check_local_folders({answers[2]});
  CHECK(nameless.health == Health::Note);
  CHECK(nameless.found == "none is named");
  CHECK_THAT(nameless.meaning, ContainsSubstring("measured as start-up") && ContainsSubstring("NOCTURNE_LOCAL_FOLDER"));
}

TEST_CASE("a clock is wrong where it is certainly so", "[doctor][slurm]") {
  const std::string printed = "0: node n1\n1: node n2\n0: clock 1007\n1: clock 4600\n2: node n3\n2: clock 900\n";
  const auto answers = read_node_answers(printed, "", 1000, 1010);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].clock_ahead_seconds == 0);
  CHECK(answers[1].clock_ahead_seconds == 3590);
  CHECK(answers[2].clock_ahead_seconds == -100);
  CHECK(check_clocks(answers).found == "n2 is 3590 s ahead, n3 is 100 s behind");
  CHECK(check_clocks({answers[0]}).health == Health::Good);
}

TEST_CASE("answers of nodes are told apart by their labels, whatever else srun says", "[doctor][slurm]") {
  const auto machine = *answer("n1").machine;
  const std::string document = to_json(OrderAnswer{.machine = machine, .result = MachineAnswer{}}).dump();
  const std::string printed =
      "srun: job 7 queued\n 0: node n2\n10: node n1\n 0: blind\n10: clock 1\n10: sees n1 n2 \n10: " + document + "\n";
  const auto answers = read_node_answers(printed, "srun: error: a warning\n 0: sh: cannot do it\n", 0, 2);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].node == "n1");
  CHECK(answers[0].sees == std::set<std::string>{"n1", "n2"});
  REQUIRE(answers[0].machine);
  CHECK(*answers[0].machine == machine);
  CHECK_FALSE(answers[1].sees_folder);
  CHECK(answers[1].reason == "sh: cannot do it");
  CHECK(read_node_answers("", "srun: error: Unable to allocate resources: Requested nodes are busy\n", 0, 1).empty());
}
