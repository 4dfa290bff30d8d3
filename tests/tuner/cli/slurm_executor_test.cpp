// Orders on the nodes of a job, by an `srun` that is a script: it starts what it is given here, and fails as srun does.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine_part.hpp"
#include "measure/run/slot.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/cli/fake_worker_campaign.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/executor/slurm/slurm_executor.hpp"
#include "tuner/executor/slurm/watch.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using tuner::OrderEnd;

// The file NODE.does says how it fails there; a file NODE.once the same for a single step, NODE.first for the first
// one, by which a node says what it is. The file gpus: those of each node; neighbours: by how many percent the default
// is slower among them; NAME.does: how the steps of that name fail.
constexpr const char* kFakeSrun = R"(#!/bin/sh
echo "$*" >> {0}/asked
while [ $# -gt 0 ]; do
  case $1 in -w) node=$2; shift 2;; -J) name=$2; shift 2;; -*) shift;; *) break;; esac
done
export SLURMD_NODENAME=$node
gpus=$(cat {0}/$node.gpus 2>/dev/null || cat {0}/gpus 2>/dev/null) && export CUDA_VISIBLE_DEVICES=$gpus
case $name in beside-*) [ -e {0}/neighbours ] && export FAKE_SLOWER_PERCENT=$(cat {0}/neighbours);; esac
does=$(cat {0}/$node.does 2>/dev/null || cat {0}/$name.does 2>/dev/null)
if [ "$name" != describe ] && [ -e {0}/$node.once ]; then does=$(cat {0}/$node.once); rm {0}/$node.once; fi
if [ "$name" = describe ] && [ -e {0}/$node.first ]; then does=$(cat {0}/$node.first); rm {0}/$node.first; first=yes; fi
for last; do :; done
case $does in
  sees_nothing) echo "nocturne: $last cannot be read" >&2; echo "srun: error: $node: task 0: Exited with exit code 2" >&2; exit 2;;
  mute) [ "$name" = describe ] && exit 0;;
  other_class) "$@" | sed '/"name": "cpu.model"/{{n;s/"value": ".*"/"value": "another"/}}'; exit;;
esac
if [ "$name" != describe ] || [ $first ]; then
  case $does in
    silent) exit 0;;
    killed) kill -9 $$;;
    slow) for i in 1 2 3 4 5 6 7 8; do echo >&2; sleep 1; done;;
    half) "$@" | head -c 400; exit 0;;
    hangs) echo $$ > {0}/hanging; exec sleep 600;;
    never_runs) echo "srun: error: Unable to create step for job 7: Requested nodes are busy" >&2; exit 1;;
    lost) echo "srun: error: Node failure on $node" >&2; exit 0;;
    refused) echo "nocturne: the order is for the CPUs 4095" >&2; exit 5;;
    tells) "$@" | sed 's/"notes": \[\]/"notes": ["its disk is full"]/'; exit;;
    broken) "$@" | sed 's/"outcome": "ok"/"outcome": "crashed"/'; exit;;
    out_of_time) cat > {0}/order
      "$@" < {0}/order | sed 's/"end": "finished"/"end": "out_of_time"/; s/"reason": ""/"reason": "the build of it was cut"/'
      exit;;
  esac
fi
exec "$@"
)";

struct Notes final : tuner::OrderObserver {
  std::vector<std::string> notes;
  void note(const std::string& sentence) override { notes.push_back(sentence); }
  [[nodiscard]] std::string text() const { return fmt::format("{}", fmt::join(notes, "\n")); }
};

class Nodes {
 public:
  Nodes() {
    make_file(folder_ / "srun", fmt::format(kFakeSrun, folder_.string()), true);
    // The first time the controller is away.
    make_file(folder_ / "squeue",
              fmt::format("#!/bin/sh\n[ -e {0}/asked_for_steps ] || {{ touch {0}/asked_for_steps; exit 1; }}\n"
                          "echo 7.0 describe n1\necho 7.4 trial-3 n1\necho 7.5 trial-3 n2\necho 7.6 trial-30 n1\n"
                          "echo 7.batch nocturne n1\n",
                          folder_.string()),
              true);
    make_file(folder_ / "scancel", fmt::format("#!/bin/sh\necho $1 >> {}/cancelled\n", folder_.string()), true);
  }

  void does(const std::string& node, const std::string& what) { make_file(folder_ / (node + ".does"), what); }
  void does_once(const std::string& node, const std::string& what) { make_file(folder_ / (node + ".once"), what); }
  void does_first(const std::string& node, const std::string& what) { make_file(folder_ / (node + ".first"), what); }
  /// Each node has two GPUs, which are slots. The default is so much slower where both work.
  void have_gpus(int slower_percent) {
    make_file(folder_ / "gpus", "0,1");
    make_file(folder_ / "neighbours", std::to_string(slower_percent));
    parts = measure::PartKind::Gpu;
  }
  void works(const std::string& node) { fs::remove(folder_ / (node + ".does")); }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string file(const std::string& name) const { return read_file(folder_ / name); }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(folder_ / name); }

  /// The error is given back as such.
  std::expected<void, std::string> open(std::vector<std::string> names) {
    tuner::SlurmExecutor::Options options{
        .commands = {.scancel = folder_ / "scancel", .squeue = folder_ / "squeue", .srun = folder_ / "srun"},
        .allocation = {.job = "7", .nodes = std::move(names), .here = "n1", .batch = true},
        .program = {NOCTURNE_PROGRAM, "--data", (folder_ / "data").string()},
        .folder = folder_ / "data" / "cluster" / "job-7",
        .parts = parts,
        .longest_order = longest,
        .pause = std::chrono::milliseconds(20),
        .beats = beats};
    auto opened =
        tuner::SlurmExecutor::open(std::move(options), spec, measure::fingerprint_of(machine), notes, interruption);
    if (!opened) return std::unexpected(opened.error());
    executor = *std::move(opened);
    return {};
  }
  void reopen(std::vector<std::string> names) {
    const auto opened = open(std::move(names));
    if (!opened) FAIL(opened.error());
  }

  [[nodiscard]] std::unique_ptr<tuner::CoordinatorWatch> watch(std::vector<std::string> names, bool batch) const {
    return std::make_unique<tuner::CoordinatorWatch>(tuner::CoordinatorWatch::Options{
        .commands = {.scancel = folder_ / "scancel", .squeue = folder_ / "squeue", .srun = folder_ / "srun"},
        .allocation = {.job = "7", .nodes = std::move(names), .here = "n1", .batch = batch},
        .program = {NOCTURNE_PROGRAM, "--data", (folder_ / "data").string()},
        .folder = folder_ / "data" / "cluster" / "watch-7",
        .rhythm = {.pause = std::chrono::milliseconds(20)}});
  }
  /// How many steps were asked for in these words, a regular expression of grep.
  [[nodiscard]] int asked(const std::string& words) const {
    return std::stoi(shell(fmt::format("grep -c -e '{}' '{}'", words, (folder_ / "asked").string())).output);
  }
  /// Whether it comes true within a minute.
  template <typename Condition>
  [[nodiscard]] static bool until(Condition holds) {
    for (int i = 0; i < 6000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return holds();
  }

  void submit(std::int64_t number, std::int64_t batch, const std::string& precision = "f32") {
    executor->submit(
        {.number = number, .configuration = space::Configuration({{"batch", batch}, {"precision", precision}})});
  }
  /// Of the default and another batch.
  [[nodiscard]] static tuner::PairOrder pair(std::int64_t index) {
    const auto side = [](std::int64_t batch) -> tuner::PairOrder::Side {
      return {.configuration = space::Configuration({{"batch", batch}, {"precision", std::string("f32")}}),
              .slice_steps = 2};
    };
    return {.index = index, .baseline = side(128), .candidate = side(64), .slices = 4, .seed = 1};
  }
  tuner::TrialAnswer answer_to(std::int64_t number, std::int64_t batch, const std::string& precision = "f32") {
    submit(number, batch, precision);
    return executor->next();
  }

  measure::MachineFacts machine = measure::probe_machine(tuner::find_installation().machine_roots());
  tuner::CampaignSpec spec = read_spec();
  std::chrono::nanoseconds longest = std::chrono::minutes(5);
  std::optional<measure::PartKind> parts;
  tuner::Rhythm beats{.pause = std::chrono::milliseconds(50), .silent_looks = 100};
  Notes notes;
  tuner::Interruption interruption;
  std::unique_ptr<tuner::SlurmExecutor> executor;

 private:
  [[nodiscard]] tuner::CampaignSpec read_spec() const {
    auto document = fake_worker_campaign("computed");
    document["run"]["repeats"] = 1;
    auto read = tuner::parse_campaign(document.dump(), "test.json", "/", measure::facts_of(machine));
    if (!read) FAIL(tuner::to_text(read.error()));
    return *std::move(read);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

}  // namespace

TEST_CASE("a step overlaps, is bound to nothing and has the trial's name", "[slurm]") {
  const auto words = tuner::srun_words({.srun = "/usr/bin/srun"},
                                       {.job = "7", .node = "n3", .name = "trial-5", .words = {"nocturne", "execute"}});
  CHECK(fmt::format("{}", fmt::join(words, " ")) ==
        "/usr/bin/srun -Q -N1 -n1 -w n3 --overlap --mem=0 --cpu-bind=none -J trial-5 nocturne execute");
}

TEST_CASE("each node of a job measures the default, then one order at a time", "[slurm]") {
  Nodes nodes;
  nodes.reopen({"n1", "n2", "n3"});
  CHECK(nodes.executor->slots() == 3);
  nodes.submit(0, 128);  // the default
  const auto first = nodes.executor->next();
  CHECK(first.number == 0);
  CHECK(first.end == OrderEnd::Finished);
  CHECK(first.node == "n1");
  REQUIRE(first.machine);
  CHECK(first.machine->find("system.host")->value == "n1");
  CHECK(first.trial.estimate);

  nodes.submit(1, 64);
  nodes.submit(2, 32);
  nodes.submit(3, 64, "bf16");
  std::set<std::string> used;
  std::set<std::int64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    const auto answer = nodes.executor->next();
    CHECK(answer.end == OrderEnd::Finished);
    used.insert(answer.node);
    numbers.insert(answer.number);
  }
  CHECK(used == std::set<std::string>{"n1", "n2", "n3"});
  CHECK(numbers == std::set<std::int64_t>{1, 2, 3});
  std::set<std::string> with_default;
  for (const auto& each : nodes.executor->take_defaults()) {
    with_default.insert(each.node);
    CHECK(each.answer.trial.configuration == nodes.spec.space.default_configuration());
    // Computed times, but for 10 us of the import.
    CHECK(each.answer.trial.estimate->value == Catch::Approx(first.trial.estimate->value).epsilon(1e-3));
    CHECK(each.answer.runs.front().run.purpose == space::Purpose::Verify);
  }
  CHECK(with_default == std::set<std::string>{"n2", "n3"});
  CHECK(nodes.notes.text().empty());
  CHECK_THAT(nodes.file("asked"), ContainsSubstring("-w n2 --overlap --mem=0 --cpu-bind=none -J default"));
  CHECK(nodes.asked("execute --beat 50ms") == nodes.asked("execute"));
  CHECK(nodes.has("data/cluster/job-7"));
  nodes.executor.reset();
  CHECK_FALSE(nodes.has("data/cluster/job-7"));
}

TEST_CASE("srun that gives no whole answer has lost the order, whatever it ends with", "[slurm][thorough]") {
  for (const std::string what : {"silent", "half", "lost", "refused", "killed"}) {
    CAPTURE(what);
    Nodes nodes;
    nodes.reopen({"n1", "n2"});
    nodes.does_once("n1", what);
    const auto lost = nodes.answer_to(0, 128);
    CHECK(lost.end == OrderEnd::Lost);
    CHECK(lost.number == 0);
    // Given again it goes elsewhere.
    const auto again = nodes.answer_to(0, 128);
    CHECK(again.end == OrderEnd::Finished);
    CHECK(again.node == "n2");
    CHECK_THAT(nodes.notes.text(),
               ContainsSubstring("an order was lost on the node n1 and is given again: srun ended"));
  }
}

TEST_CASE("a node whose description is lost is asked again", "[slurm][thorough]") {
  for (const std::string what : {"silent", "half", "hangs", "never_runs", "sees_nothing"}) {
    CAPTURE(what);
    Nodes nodes;
    nodes.does_first("n2", what);
    nodes.reopen({"n1", "n2"});
    CHECK(nodes.executor->slots() == 2);
    CHECK(nodes.notes.text().empty());
    CHECK(nodes.asked("-w n2 .*-J describe") == 2);
    CHECK(nodes.asked("-w n1 .*-J describe") == 1);
  }
}

TEST_CASE("a node that never says what it is is asked three times, and left out", "[slurm]") {
  Nodes nodes;
  nodes.does("n2", "mute");
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.executor->slots() == 1);
  CHECK(nodes.asked("-w n2 .*-J describe") == 3);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("the node n2 is left out: it did not say what it is: srun ended"));
}

TEST_CASE("an order that hangs is ended at its deadline, and its step cancelled on its node alone", "[slurm]") {
  Nodes nodes;
  nodes.longest = std::chrono::milliseconds(200);
  nodes.reopen({"n1"});
  nodes.does("n1", "hangs");
  const auto lost = nodes.answer_to(3, 128);
  CHECK(lost.end == OrderEnd::Lost);
  CHECK(nodes.file("cancelled") == "7.4\n");
  CHECK(shell("kill -0 " + nodes.file("hanging")).code != 0);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("it took longer than an order may"));
}

TEST_CASE("an order that gives no sign of life is ended long before its deadline", "[slurm][thorough]") {
  Nodes nodes;
  nodes.reopen({"n1"});
  nodes.does_once("n1", "hangs");
  CHECK(nodes.answer_to(3, 128).end == OrderEnd::Lost);
  CHECK(nodes.file("cancelled") == "7.4\n");
  CHECK(shell("kill -0 " + nodes.file("hanging")).code != 0);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("it gave no sign of life for 5 s"));
  CHECK(nodes.answer_to(3, 128).end == OrderEnd::Finished);
  // Longer than that silence, but not silent.
  nodes.does_once("n1", "slow");
  CHECK(nodes.answer_to(4, 64).end == OrderEnd::Finished);
}

TEST_CASE("what a killed srun had started is cancelled", "[slurm]") {
  Nodes nodes;
  nodes.reopen({"n1"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  nodes.does_once("n1", "killed");
  CHECK(nodes.answer_to(3, 64).end == OrderEnd::Lost);
  CHECK(nodes.file("cancelled") == "7.4\n");
}

TEST_CASE("what Slurm could not begin is no loss, however often, and is given again", "[slurm][thorough]") {
  Nodes nodes;
  nodes.reopen({"n1"});
  nodes.does("n1", "never_runs");
  for (int tries = 0; tries <= tuner::SlurmExecutor::kMostRefusals; ++tries)
    CHECK(nodes.answer_to(0, 128).end == OrderEnd::Suspended);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("an order could not be started on the node n1 and is given again"));
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("Unable to create step"));
  nodes.works("n1");
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  CHECK(nodes.notes.notes.size() == 1);
}

TEST_CASE("where Slurm can begin nothing for long the session ends", "[slurm][thorough]") {
  Nodes nodes;
  nodes.reopen({"n1"});
  nodes.does("n1", "never_runs");
  int refused = 0;
  while (nodes.answer_to(0, 128).end == OrderEnd::Suspended) ++refused;
  CHECK(refused < tuner::SlurmExecutor::kMostRefusalsOfAll);
  CHECK(nodes.answer_to(1, 64).end == OrderEnd::Interrupted);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("nothing could be started on it 30 times in a row"));
}

TEST_CASE("a node is told how long it may prepare, and one that had no time for it has not lost its order", "[slurm]") {
  Nodes nodes;
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  nodes.interruption.prepare_until(std::chrono::steady_clock::now() + std::chrono::hours(1));
  nodes.does("n2", "out_of_time");
  // Its first order waits for the default, which has no time either.
  nodes.submit(1, 64);
  nodes.submit(2, 32);
  std::set<OrderEnd> ends;
  for (int i = 0; i < 2; ++i) ends.insert(nodes.executor->next().end);
  CHECK(ends == std::set<OrderEnd>{OrderEnd::Finished, OrderEnd::OutOfTime});
  CHECK(nodes.interruption.out_of_time());
  CHECK(nodes.asked("-w n2 .*-J default") == 1);
  CHECK(nodes.asked("-w n2 .*-J trial-2") == 1);
  const auto told = nlohmann::json::parse(nodes.file("order")).at("prepare_within_ns").get<std::int64_t>();
  CHECK(told > std::chrono::nanoseconds(std::chrono::minutes(58)).count());
  CHECK(told <= std::chrono::nanoseconds(std::chrono::hours(1)).count());
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("on the node n2 the build of it was cut; the same command goes on"));
  CHECK_FALSE(nodes.notes.text().contains("lost"));
  CHECK(nodes.executor->slots() == 2);
}

TEST_CASE("a node on which nothing can be started is left out where others take orders", "[slurm]") {
  Nodes nodes;
  nodes.does("n2", "never_runs");
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  while (!nodes.notes.text().contains("left out")) {
    const auto answer = nodes.answer_to(1, 64);
    CHECK((answer.end == OrderEnd::Suspended || answer.node == "n1"));
  }
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("the node n2 is left out: nothing could be started on it 5 times"));
  CHECK(nodes.executor->slots() == 1);
}

TEST_CASE("a node that loses three orders in a row is left out, and the others go on", "[slurm]") {
  Nodes nodes;
  nodes.does("n2", "lost");
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  while (!nodes.notes.text().contains("left out")) {
    const auto answer = nodes.answer_to(1, 64);
    CHECK((answer.end == OrderEnd::Lost || answer.node == "n1"));
  }
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("the node n2 is left out: it lost 3 orders in a row"));
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("Node failure on n2"));
  CHECK(nodes.executor->slots() == 1);
  for (int number = 2; number < 5; ++number) CHECK(nodes.answer_to(number, 64).node == "n1");
}

TEST_CASE("where no node is left the session ends", "[slurm]") {
  Nodes nodes;
  nodes.does("n1", "lost");
  nodes.reopen({"n1"});
  // Between orders it fails with the default, too.
  int lost = 0;
  while (nodes.answer_to(0, 128).end == OrderEnd::Lost) ++lost;
  CHECK(lost <= tuner::SlurmExecutor::kMostFailures);
  CHECK(nodes.answer_to(1, 64).end == OrderEnd::Interrupted);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("no node is left"));
}

TEST_CASE("a failure now and then does not leave a node out", "[slurm][thorough]") {
  Nodes nodes;
  nodes.reopen({"n1"});
  for (int number = 0; number < 4; ++number) {
    nodes.does_once("n1", "silent");
    CHECK(nodes.answer_to(number, 128).end == OrderEnd::Lost);
    CHECK(nodes.answer_to(number, 128).end == OrderEnd::Finished);
  }
}

TEST_CASE("a node on which the default fails alone is left out, and its failures count for nothing", "[slurm]") {
  Nodes nodes;
  nodes.does("n1", "broken");
  nodes.reopen({"n1", "n2", "n3"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Lost);
  const auto again = nodes.answer_to(0, 128);
  CHECK(again.end == OrderEnd::Finished);
  CHECK(again.trial.outcome == space::Outcome::Ok);
  CHECK(again.node != "n1");
  CHECK_THAT(nodes.notes.text(),
             ContainsSubstring("the node n1 is left out: the default fails on it and works elsewhere"));
}

TEST_CASE("a default that fails everywhere is the default's failure", "[slurm]") {
  Nodes nodes;
  for (const std::string node : {"n1", "n2"}) nodes.does(node, "broken");
  nodes.reopen({"n1", "n2"});
  const auto answer = nodes.answer_to(0, 128);
  CHECK(answer.end == OrderEnd::Finished);
  CHECK(answer.trial.outcome == space::Outcome::Crashed);
  CHECK(nodes.executor->slots() == 2);
}

TEST_CASE("a node of another class is left out, and told why", "[slurm]") {
  Nodes nodes;
  nodes.does("n2", "other_class");
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.executor->slots() == 1);
  CHECK_THAT(nodes.notes.text(),
             ContainsSubstring("the node n2 is left out: it is of another class: cpu.model is 'another', not"));
}

TEST_CASE("what a node tells of itself is said once", "[slurm]") {
  Nodes nodes;
  nodes.does("n1", "tells");
  nodes.reopen({"n1"});
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
  CHECK(nodes.answer_to(1, 64).end == OrderEnd::Finished);
  CHECK(nodes.notes.text() == "on the node n1: its disk is full");
}

TEST_CASE("a data folder that a node does not share is refused", "[slurm]") {
  Nodes nodes;
  nodes.does("n2", "sees_nothing");
  const auto opened = nodes.open({"n1", "n2"});
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error(),
             ContainsSubstring("the node n2 does not see what this one has just written into the data folder"));
}

TEST_CASE("an interruption ends what is in flight, a suspension gives it back", "[slurm]") {
  for (const bool suspended : {false, true}) {
    Nodes nodes;
    nodes.reopen({"n1"});
    CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
    nodes.does_once("n1", "hangs");
    nodes.submit(1, 64);
    while (nodes.file("hanging").empty()) std::this_thread::yield();
    if (suspended)
      nodes.interruption.suspend();
    else
      nodes.interruption.abandon();
    CHECK(nodes.executor->next().end == (suspended ? OrderEnd::Suspended : OrderEnd::Interrupted));
    if (!suspended) continue;
    nodes.interruption.resume();
    CHECK(nodes.answer_to(1, 64).end == OrderEnd::Finished);
  }
}

TEST_CASE("a pair is measured on the node that it was given to, several at once, and is lost with it", "[slurm]") {
  Nodes nodes;
  nodes.reopen({"n1", "n2", "n3"});
  CHECK(nodes.executor->pair_nodes() == std::vector<std::string>{"n1", "n2", "n3"});
  const auto submit = [&](const std::string& node, std::int64_t index) {
    nodes.executor->submit_pair(node, nodes.pair(index));
  };
  for (const auto& [node, index] : {std::pair("n3", 4), std::pair("n1", 5), std::pair("n2", 6)}) submit(node, index);
  std::map<std::string, std::int64_t> measured;
  for (int i = 0; i < 3; ++i) {
    const auto pair = nodes.executor->next_pair();
    CHECK(pair.answer.end == OrderEnd::Finished);
    CHECK(pair.answer.complete);
    CHECK(pair.answer.pair.index == pair.index);
    CHECK(pair.answer.pair.slices.size() == 8);
    REQUIRE(pair.machine);
    CHECK(pair.machine->find("system.host")->value == pair.node);
    CHECK(pair.answer.pair.candidate.fingerprint == pair.machine->identity());
    measured[pair.node] = pair.index;
  }
  CHECK(measured == std::map<std::string, std::int64_t>{{"n1", 5}, {"n2", 6}, {"n3", 4}});
  CHECK_THAT(nodes.file("asked"), ContainsSubstring("-w n2 --overlap --mem=0 --cpu-bind=none -J pair-6"));
  CHECK(nodes.notes.text().empty());

  nodes.does_once("n2", "silent");
  submit("n2", 7);
  const auto lost = nodes.executor->next_pair();
  CHECK(lost.answer.end == OrderEnd::Lost);
  CHECK((lost.node == "n2" && lost.index == 7));
  nodes.does("n2", "lost");
  while (!nodes.notes.text().contains("left out")) {
    submit("n2", 8);
    CHECK(nodes.executor->next_pair().answer.end == OrderEnd::Lost);
  }
  CHECK(nodes.executor->pair_nodes() == std::vector<std::string>{"n1", "n3"});
}

namespace {

/// Set in this process while it lives, as in a coordinator that is in a part of its node.
class InPart {
 public:
  InPart() {
    ::setenv("NOCTURNE_PART", "gpu0", 1);
    ::setenv("NOCTURNE_PART_MEMORY", "1000000000", 1);
  }
  InPart(const InPart&) = delete;
  InPart& operator=(const InPart&) = delete;
  ~InPart() {
    ::unsetenv("NOCTURNE_PART");
    ::unsetenv("NOCTURNE_PART_MEMORY");
  }
};

/// What a coordinator in the first part of its node is.
measure::MachineFacts facts_of_first_part() {
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  const auto parts = measure::parts_of_this_machine(measure::PartKind::Gpu);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  if (!parts) FAIL(parts.error());
  const InPart in_part;
  measure::MachineFacts facts = measure::probe_machine(tuner::find_installation().machine_roots());
  facts.allowed_cpus = parts->front().cpus;
  facts.allowed_cores = static_cast<int>(facts.allowed_cpus.size());
  return facts;
}

}  // namespace

TEST_CASE("GPUs that do not disturb each other measure at once, each with its own cores", "[slurm]") {
  Nodes nodes;
  nodes.have_gpus(0);
  nodes.machine = facts_of_first_part();
  {
    const InPart coordinator;
    nodes.reopen({"n1", "n2"});
  }
  CHECK(nodes.executor->slots() == 4);
  // Neighbours come last: what is spread over a few is spread over nodes.
  CHECK(nodes.executor->pair_nodes() == std::vector<std::string>{"n1/gpu0", "n2/gpu0", "n1/gpu1", "n2/gpu1"});
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("GPUs of a node do not disturb each other: the default takes"));
  // Two ratios a round.
  for (const std::string node : {"n1", "n2"}) {
    CHECK(nodes.asked("-w " + node + " .*-J alone-gpu0") == 1);
    CHECK(nodes.asked("-w " + node + " .*-J alone-gpu1") == 1);
    for (const std::string gpu : {"gpu0", "gpu1"}) CHECK(nodes.asked("-w " + node + " .*-J beside-" + gpu) == 2);
  }

  std::map<std::string, std::vector<int>> cpus;
  std::map<std::string, std::string> gpus;
  for (std::int64_t number = 0; number < 4; ++number) nodes.submit(number, number == 0 ? 128 : 64);
  for (int i = 0; i < 4; ++i) {
    const auto answer = nodes.executor->next();
    REQUIRE(answer.end == OrderEnd::Finished);
    CHECK(answer.machine->find("system.host")->value == answer.node);
    const nlohmann::json& told = answer.runs.front().run.ready;
    cpus[answer.node] = told.at("cpus").get<std::vector<int>>();
    // Half of the machine's, not of the coordinator's part.
    const std::string memory = told.at("environment").at("NOCTURNE_PART_MEMORY");
    CHECK(std::stoll(memory) == measure::probe_machine_cheaply().usable_memory_bytes() / 2);
    gpus[answer.node] = told.at("environment").at("CUDA_VISIBLE_DEVICES");
  }
  CHECK(gpus ==
        std::map<std::string, std::string>{{"n1/gpu0", "0"}, {"n1/gpu1", "1"}, {"n2/gpu0", "0"}, {"n2/gpu1", "1"}});
  std::vector<int> both = cpus["n1/gpu0"];
  both.insert(both.end(), cpus["n1/gpu1"].begin(), cpus["n1/gpu1"].end());
  std::ranges::sort(both);
  CHECK(std::ranges::adjacent_find(both) == both.end());
  CHECK(cpus["n1/gpu0"].size() == cpus["n1/gpu1"].size());

  // One waits for nobody but who uses its cores. An answer is there before its process has ended, and let go of them.
  auto held = measure::SlotLock::try_take({.cpus = cpus["n1/gpu1"]}, "another");
  for (int tries = 0; !held && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    held = measure::SlotLock::try_take({.cpus = cpus["n1/gpu1"]}, "another");
  }
  CHECK(held);
  nodes.executor->submit_pair("n1/gpu0", nodes.pair(1));
  CHECK(nodes.executor->next_pair().answer.complete);
  CHECK(nodes.asked("-w n1 .*-J pair-1-gpu0") == 1);

  std::set<std::string> with_default;
  for (const auto& each : nodes.executor->take_defaults()) with_default.insert(each.node);
  CHECK(with_default == std::set<std::string>{"n1/gpu0", "n1/gpu1", "n2/gpu0", "n2/gpu1"});
  CHECK(nodes.asked("-J default") == 0);
  CHECK(nodes.asked("-J trial-3 ") == 1);  // as accounting is to show it
}

TEST_CASE("GPUs that disturb each other take turns: one of each node measures", "[slurm]") {
  Nodes nodes;
  nodes.have_gpus(20);
  nodes.machine = facts_of_first_part();
  nodes.reopen({"n1", "n2"});
  CHECK(nodes.executor->slots() == 2);
  CHECK(nodes.executor->pair_nodes() == std::vector<std::string>{"n1/gpu0", "n2/gpu0"});
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("one trial at a time on each node, for that its GPUs do not disturb "
                                                   "each other was not shown: the default takes +"));
  CHECK(nodes.executor->take_defaults().empty());  // it was measured among others
  CHECK(nodes.answer_to(0, 128).end == OrderEnd::Finished);
}

TEST_CASE("a default that works alone and fails among neighbours keeps them apart", "[slurm]") {
  Nodes nodes;
  nodes.have_gpus(0);
  nodes.machine = facts_of_first_part();
  nodes.does("beside-gpu1", "broken");
  nodes.reopen({"n1"});
  CHECK(nodes.executor->slots() == 1);
  CHECK_THAT(nodes.notes.text(), ContainsSubstring("among working neighbours the default fails"));
}

TEST_CASE("a node without GPUs, and one that is divided otherwise, are left out", "[slurm]") {
  Nodes nodes;
  nodes.have_gpus(0);
  nodes.machine = facts_of_first_part();
  make_file(nodes.path("n2.gpus"), "");
  make_file(nodes.path("n3.gpus"), "0");
  nodes.reopen({"n1", "n2", "n3"});
  CHECK(nodes.executor->slots() == 2);
  CHECK_THAT(nodes.notes.text(),
             ContainsSubstring("the node n2 is left out: it has no parts to measure on: no GPU is to be seen"));
  CHECK_THAT(nodes.notes.text(),
             ContainsSubstring("the node n3/gpu0 is left out: it is of another class: cpu.allowed is"));
}

TEST_CASE("a job script asks for whole nodes, keeps what it printed, and becomes the campaign", "[slurm]") {
  const std::string script = tuner::job_script({.name = "evening",
                                                .request = {.nodes = 8, .partition = "cpu", .gres = "gpu:1"},
                                                .time = std::chrono::hours(30) + std::chrono::seconds(5),
                                                .notice = std::chrono::seconds(300),
                                                .log = "/shared/my data/logs/evening-job-%j.log",
                                                .modules = {"module load cuda"},
                                                .script = "/shared/my data/jobs/evening.sh",
                                                .command = {"/opt/nocturne", "tune", "it's.json"}});
  CHECK(script ==
        "#!/bin/sh\n#SBATCH --job-name=evening\n#SBATCH --nodes=8\n#SBATCH --exclusive\n#SBATCH --mem=0\n"
        "#SBATCH --partition=cpu\n#SBATCH --gres=gpu:1\n#SBATCH --time=30:00:05\n#SBATCH --signal=B:USR1@300\n"
        "#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode=append\n"
        "#SBATCH --output=\"/shared/my data/logs/evening-job-%j.log\"\nmodule load cuda\n"
        "export NOCTURNE_JOB_SCRIPT='/shared/my data/jobs/evening.sh'\n"
        "exec /opt/nocturne tune 'it'\\''s.json'\n");
}

TEST_CASE("a file that nobody writes any more is silent, one that goes on is not", "[slurm]") {
  const TemporaryFolder folder;
  const fs::path beat = folder.path() / "beat";
  const tuner::Rhythm rhythm{.pause = std::chrono::milliseconds(20), .silent_looks = 30};
  std::atomic<int> beats = 0;
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && beats < 40) {
      make_file(beat, std::to_string(++beats));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  CHECK(tuner::wait_for_silence(beat, rhythm, {}));
  CHECK(beats == 40);
}

TEST_CASE("a file that cannot be read for a moment says nothing, and its watch goes on", "[slurm]") {
  const TemporaryFolder folder;
  const auto beat = folder.path() / "beat";
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::ofstream(beat) << "1";
  });
  CHECK(tuner::wait_for_silence(beat, {.pause = std::chrono::milliseconds(10), .silent_looks = 3}, {}));
}

TEST_CASE("a watch that nobody stops ends where its file is gone for good", "[slurm]") {
  const TemporaryFolder folder;
  CHECK_FALSE(
      tuner::wait_for_silence(folder.path() / "beat", {.pause = std::chrono::milliseconds(1), .silent_looks = 3}, {}));
}

TEST_CASE("a file that a full disk has left empty says nothing", "[slurm]") {
  const TemporaryFolder folder;
  make_file(folder.path() / "beat", "");
  CHECK_FALSE(
      tuner::wait_for_silence(folder.path() / "beat", {.pause = std::chrono::milliseconds(1), .silent_looks = 3}, {}));
}

TEST_CASE("a watchdog sees to a job that nobody leads any more, and does nothing where it was forgotten", "[slurm]") {
  const TemporaryFolder folder;
  const fs::path done = folder.path() / "done", beat = folder.path() / "beat";
  const auto command = [&](const std::string& name, const std::string& fails) {
    make_file(folder.path() / name,
              fmt::format("#!/bin/sh\necho {} $* >> {}\n[ -e {}/{}.refuses ] && {{ {} exit 1; }}\necho 8\n", name,
                          done.string(), folder.path().string(), name, fails),
              true);
    return folder.path() / name;
  };
  const auto refuses = [&](const std::string& name) { make_file(folder.path() / (name + ".refuses"), "yes"); };
  tuner::WatchedJob job{
      .commands = {.sbatch = command("sbatch", ""),
                   // Away for a moment.
                   .scancel = command("scancel", fmt::format("rm {}/scancel.refuses;", folder.path().string())),
                   .scontrol = command("scontrol", "")},
      .allocation = {.job = "7", .nodes = {"n1", "n2"}, .here = "n2", .batch = true},
      .beat = beat,
      .rhythm = {.pause = std::chrono::milliseconds(1), .silent_looks = 3}};
  std::string said;
  const auto watch_over = [&] {
    said.clear();
    fs::remove(done);
    return tuner::watch_over(job, [&](const std::string& sentence) { said += sentence + "\n"; });
  };
  CHECK(watch_over());  // there is no file
  CHECK(said.empty());
  CHECK_FALSE(fs::exists(done));

  make_file(beat, "1");
  CHECK(watch_over());
  CHECK(said == "The coordinator is silent: job 7 is queued again.\n");
  CHECK(read_file(done) == "scontrol requeue 7\n");

  // Where that is forbidden another job goes on, and this one is cancelled, or that would wait for its end.
  refuses("scontrol");
  refuses("scancel");
  job.script = "/shared/evening.sh";
  CHECK(watch_over());
  CHECK(read_file(done) ==
        "scontrol requeue 7\nsbatch --parsable --dependency=afterany:7 /shared/evening.sh\nscancel 7\nscancel 7\n");

  // A script of the user's own cannot be handed in again: the job does not keep its nodes for nothing.
  job.script.clear();
  CHECK_FALSE(watch_over());
  CHECK_THAT(said, ContainsSubstring("Job 7 is cancelled: start the same command again."));
  CHECK(read_file(done) ==
        "scontrol requeue 7\nscontrol requeue 7\nscontrol requeue 7\nscontrol requeue 7\n"
        "scontrol requeue 7\nscancel 7\n");
}

TEST_CASE("a step on a second node watches while the coordinator lives, on the next where that is lost", "[slurm]") {
  Nodes nodes;
  nodes.does_once("n2", "lost");
  nodes.does("n3", "hangs");
  auto watch = nodes.watch({"n1", "n2", "n3"}, true);
  CHECK(nodes.until([&] { return nodes.has("hanging") && nodes.file("asked").contains("-w n3"); }));
  const std::string asked = nodes.file("asked");
  CHECK_THAT(asked, ContainsSubstring("-w n2 --overlap --mem=0 --cpu-bind=none -J watchdog"));
  CHECK_THAT(asked, ContainsSubstring("execute --watch"));
  CHECK_FALSE(asked.contains("-w n1"));
  const std::string before = nodes.file("data/cluster/watch-7/beat");
  CHECK(before.size() == 21);
  CHECK(nodes.until([&] { return nodes.file("data/cluster/watch-7/beat") != before; }));
  watch.reset();
  CHECK_FALSE(nodes.has("data/cluster/watch-7"));
  CHECK(shell("kill -0 " + nodes.file("hanging")).code != 0);
}

TEST_CASE("nobody watches a job that cannot be queued again, or has one node", "[slurm]") {
  Nodes nodes;
  for (const bool batch : {true, false}) {
    const auto watch =
        nodes.watch(batch ? std::vector<std::string>{"n1"} : std::vector<std::string>{"n1", "n2"}, batch);
    CHECK_FALSE(nodes.has("data/cluster"));
    CHECK_FALSE(nodes.has("asked"));
  }
}

TEST_CASE("a job is queued again, by itself or by one that depends on it", "[slurm]") {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& name, const std::string& script) {
    make_file(folder.path() / name, "#!/bin/sh\n" + script, true);
    return folder.path() / name;
  };
  const tuner::Allocation job{.job = "7", .nodes = {"n1"}, .here = "n1", .batch = true};
  const tuner::SlurmCommands obliging{.sbatch = "/bin/false", .scontrol = says("scontrol", "exit 0\n")};
  auto again = tuner::queue_again(obliging, job, {});
  REQUIRE(again);
  CHECK(again->sentence == "job 7 is queued again");
  CHECK_FALSE(again->dependent);
  // A warning of the site stands before the number.
  const std::string sbatch = "echo 'sbatch: be kind' >&2\necho $NOCTURNE_JOB_GOES_ON $* > " +
                             (folder.path() / "told").string() + "\necho '8;hill'\n";
  const tuner::SlurmCommands strict{.sbatch = says("sbatch", sbatch), .scontrol = "/bin/false"};
  again = tuner::queue_again(strict, job, "/shared/evening.sh");
  REQUIRE(again);
  CHECK(again->sentence == "job 7 may not be queued again; job 8 goes on after it");
  CHECK(again->dependent);
  CHECK(read_file(folder.path() / "told") == "1 --parsable --dependency=afterany:7 /shared/evening.sh\n");
  // Sisters go on one at a time.
  make_file(folder.path() / "sister.sh", "#!/bin/sh\n#SBATCH --dependency=singleton\n");
  REQUIRE(tuner::queue_again(strict, job, folder.path() / "sister.sh"));
  CHECK_THAT(read_file(folder.path() / "told"), ContainsSubstring(" --dependency=afterany:7,singleton "));
  CHECK_FALSE(tuner::queue_again(strict, job, {}));
  CHECK_FALSE(tuner::queue_again(obliging, {.job = "7", .nodes = {"n1"}, .here = "n1"}, {}));
}

}  // namespace nocturne::test
