/// The worker from outside: a process, a request, its events.

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne {
namespace {

using nlohmann::json;

class CommandRun {
 public:
  CommandRun() { test::write_tiny_images(folder_.path(), 100, 30); }

  json request = {{"protocol", 1},
                  {"workload", {{"network", "mnist_cnn"}, {"data", "mnist"}, {"optimizer", "adadelta"}}},
                  {"configuration", {{"batch", 16}, {"threads", 1}}},
                  {"seed", 1},
                  {"steps", 3}};

  std::vector<std::string> variables;  ///< "NAME=value", before those of this process

  [[nodiscard]] std::string path(const char* name) const { return (folder_.path() / name).string(); }

  void start() {
    request["workload"]["data_folder"] = folder_.path().string();
    std::ofstream(path("request.json")) << request;
    std::string program = NOCTURNE_ONEDNN_PROGRAM,
                arguments[] = {"--request", path("request.json"), "--events", path("events.jsonl")};
    char* argv[] = {program.data(),      arguments[0].data(), arguments[1].data(),
                    arguments[2].data(), arguments[3].data(), nullptr};
    std::vector<char*> environment;
    for (std::string& each : variables) environment.push_back(each.data());
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, path("stderr").c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(posix_spawn(&child_, program.c_str(), &actions, nullptr, argv, environment.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }

  [[nodiscard]] int finish() const {
    int status = 0;
    REQUIRE(waitpid(child_, &status, 0) == child_);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

  int run() {
    start();
    return finish();
  }

  [[nodiscard]] std::vector<json> events(const char* name = nullptr) const {
    std::ifstream file(path("events.jsonl"));
    std::vector<json> all;
    for (std::string line; std::getline(file, line) && !file.eof();) {
      json event = json::parse(line);
      if (name == nullptr || event.at("event") == name) all.push_back(std::move(event));
    }
    return all;
  }

  [[nodiscard]] json end() const { return events().back(); }

  [[nodiscard]] std::int64_t steps_reported() const {
    std::int64_t steps = 0;
    for (const json& sample : events("sample")) steps += sample.at("steps").get<std::int64_t>();
    return steps;
  }

  // The CPUs that each of its threads may run on, as the kernel writes them: "0", "0-1", "0,4".
  [[nodiscard]] std::vector<std::string> cpus_of_threads() const {
    std::vector<std::string> all;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(child_) + "/task")) {
      std::ifstream status(task.path() / "status");
      for (std::string word; status >> word;)
        if (word == "Cpus_allowed_list:" && status >> word) all.push_back(word);
    }
    return all;
  }

  // Until that many steps are reported; a worker that dies ends it as well.
  void await_steps(std::int64_t steps) const {
    siginfo_t dead{};
    while (steps_reported() < steps && dead.si_pid == 0) {
      waitid(P_PID, static_cast<id_t>(child_), &dead, WEXITED | WNOHANG | WNOWAIT);
      sched_yield();
    }
    REQUIRE(steps_reported() == steps);
  }

 private:
  test::TemporaryFolder folder_;
  pid_t child_ = -1;
};

std::vector<std::string> names(const std::vector<json>& events, const char* field) {
  std::vector<std::string> all;
  for (const json& event : events) all.push_back(event.at(field).get<std::string>());
  return all;
}

}  // namespace

TEST_CASE("the gate is steps without a first one, and norms around each", "[onednn][gate]") {
  CommandRun talk;
  talk.request["gate"] = {{"steps", 3}, {"write", talk.path("initial")}};
  talk.request["partial_batch"] = "train";
  CHECK(talk.run() == 0);
  CHECK(talk.end().at("status") == "ok");
  CHECK(talk.events("ready").at(0).at("gate") == true);
  CHECK(names(talk.events("phase_end"), "name") == std::vector<std::string>{"import", "data", "compile"});
  const auto samples = talk.events("sample");
  REQUIRE(samples.size() == 3);
  CHECK(samples.front().at("first_step") == 0);
  const auto norms = talk.events("norms");
  REQUIRE(norms.size() == 4);
  CHECK(norms.front().at("steps") == 0);
  CHECK(norms.back().at("steps") == 3);
  CHECK(norms.back().at("layers").size() == 8);
  CHECK(norms.back().at("layers").at(1).at("layer") == "conv1.biases");
  CHECK(norms.back().at("layers").at(1).at("moved") > 0);
  CHECK(talk.events("epoch").empty());
  CHECK(std::filesystem::file_size(talk.path("initial")) > 4 * 1'199'882);
}

TEST_CASE("the worker greets first, says what it is, samples, and ends last", "[onednn]") {
  CommandRun talk;
  talk.request["steps_per_sample"] = 2;
  CHECK(talk.run() == 0);
  const auto events = talk.events();
  CHECK(names(talk.events("phase_end"), "name") == std::vector<std::string>{"import", "data", "compile", "first_step"});
  CHECK(events.front().at("event") == "hello");
  CHECK(events.front().at("protocol") == 1);
  CHECK(events[events.size() - 2].at("event") == "memory");
  CHECK(events[events.size() - 2].at("peak_rss_bytes") > 1 << 20);
  CHECK(talk.end().at("status") == "ok");

  const json ready = talk.events("ready").at(0);
  CHECK(ready.at("threads") == 1);
  CHECK(ready.at("parameters") == 1'199'882);
  CHECK(ready.at("affinity").is_array());
  CHECK(ready.at("allocator").is_string());
  CHECK(ready.at("versions").at("onednn").get<std::string>().starts_with("3."));
  CHECK(ready.at("implementations").size() >= 13);
  for (const json& each : ready.at("implementations")) CHECK(each.at("reference") == false);

  const auto samples = talk.events("sample");
  REQUIRE(samples.size() == 2);  // 2 + 1 steps
  CHECK(samples[0].at("first_step") == 1);
  CHECK(samples[0].at("steps") == 2);
  CHECK(samples[1].at("first_step") == 3);
  CHECK(samples[1].at("steps") == 1);
  for (const json& sample : samples) {
    CHECK(sample.at("wall_ns") > 0);
    CHECK(sample.at("data_wait_ns") < sample.at("wall_ns"));
    CHECK(sample.at("loss").is_number());
  }
}

TEST_CASE("a residual network trains on synthetic images, its buffers share memory", "[onednn]") {
  CommandRun talk;
  talk.request["workload"] = {{"network", "resnet20"}, {"data", "synthetic"}, {"optimizer", "sgd_momentum"}};
  talk.request["steps"] = 2;
  CHECK(talk.run() == 0);
  CHECK(talk.end().at("status") == "ok");
  CHECK(talk.steps_reported() == 2);
  const json ready = talk.events("ready").at(0);
  CHECK(ready.at("parameters") == 272'474);
  CHECK(ready.at("buffer_bytes") < ready.at("buffer_bytes_unshared"));
  CHECK(ready.at("peak_rss_bytes") >= ready.at("buffer_bytes"));
  for (const json& each : ready.at("implementations")) {
    INFO(each.dump());
    CHECK(each.at("reference") == false);
  }
}

TEST_CASE("epochs end, the smaller batch is a sample of its own, and accuracy is told when asked", "[onednn]") {
  CommandRun talk;
  talk.request.update({{"epochs", 2}, {"partial_batch", "train"}, {"accuracy", true}, {"steps_per_sample", 100}});
  CHECK(talk.run() == 0);
  const auto epochs = talk.events("epoch");
  REQUIRE(epochs.size() == 2);
  CHECK(epochs[1].at("index") == 1);
  CHECK(epochs[1].at("loss") < epochs[0].at("loss"));
  std::vector<std::int64_t> steps;  // 100 = 6 · 16 + 4: the first step, then 5 and 1, then 6 and 1
  for (const json& sample : talk.events("sample")) steps.push_back(sample.at("steps").get<std::int64_t>());
  CHECK(steps == std::vector<std::int64_t>{5, 1, 6, 1});
  const json accuracy = talk.events("accuracy").at(0);
  CHECK(accuracy.at("examples") == 30);
  CHECK(accuracy.at("accuracy") >= 0);
  CHECK(accuracy.at("accuracy") <= 1);
  CHECK(talk.end().at("status") == "ok");
}

TEST_CASE("steps may cross an epoch's end", "[onednn]") {
  CommandRun talk;
  talk.request["steps"] = 8;  // an epoch is 6
  CHECK(talk.run() == 0);
  CHECK(talk.events("epoch").size() == 1);
  CHECK(talk.steps_reported() == 8);
  CHECK(talk.events("accuracy").empty());
}

TEST_CASE("turns allow steps slice by slice, and their end is the end", "[onednn]") {
  CommandRun talk;
  const std::string turns = talk.path("turns");
  REQUIRE(mkfifo(turns.c_str(), 0600) == 0);
  talk.request["turns"] = turns;
  talk.start();
  const int pipe = open(turns.c_str(), O_WRONLY);  // returns once the worker has opened its side
  REQUIRE(pipe >= 0);
  CHECK(talk.events("sample").empty());
  REQUIRE(write(pipe, "3\n", 2) == 2);
  talk.await_steps(3);
  REQUIRE(write(pipe, "2\n", 2) == 2);
  talk.await_steps(5);
  close(pipe);
  CHECK(talk.finish() == 0);
  CHECK(talk.steps_reported() == 5);
  CHECK(talk.end().at("status") == "ok");
}

TEST_CASE("threads that read ahead are not bound to the CPU of the thread that makes them", "[onednn]") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) cpus.push_back(cpu);
  if (cpus.size() < 2) SKIP("one CPU: there is nothing to distinguish");
  const std::string first = std::to_string(cpus[0]), second = std::to_string(cpus[1]);
  CommandRun talk;
  talk.variables = {"OMP_PLACES={" + first + "},{" + second + "}", "OMP_PROC_BIND=close"};
  talk.request["configuration"].update({{"threads", 2}, {"data_threads", 3}});
  const std::string turns = talk.path("turns");
  REQUIRE(mkfifo(turns.c_str(), 0600) == 0);
  talk.request["turns"] = turns;
  talk.start();
  const int pipe = open(turns.c_str(), O_WRONLY);  // returns when the worker has trained its first step, and waits
  REQUIRE(pipe >= 0);
  const std::vector<std::string> found = talk.cpus_of_threads();
  close(pipe);
  CHECK(talk.finish() == 0);
  const std::string both = first + (cpus[1] == cpus[0] + 1 ? "-" : ",") + second;
  CHECK(std::ranges::count(found, both) == 3);   // those that read
  CHECK(std::ranges::count(found, first) == 1);  // the pool
  CHECK(std::ranges::count(found, second) == 1);
  CHECK(talk.events("ready").at(0).at("affinity") == cpus);  // of all of them
}

TEST_CASE("what cannot be done is unsupported, with the reason", "[onednn]") {
  const auto refused = [](const json& change, const std::string& why) {
    CommandRun talk;
    talk.request.merge_patch(change);
    CHECK(talk.run() == 0);
    CHECK(talk.end().at("status") == "unsupported");
    INFO(talk.end().at("reason").get<std::string>());
    CHECK(talk.end().at("reason").get<std::string>().find(why) != std::string::npos);
    CHECK(talk.events("sample").empty());
  };
  refused({{"workload", {{"network", "alexnet"}}}}, "unknown network 'alexnet', known: mnist_cnn");
  refused({{"workload", {{"optimizer", "adam"}}}}, "unknown optimizer 'adam'");
  refused({{"workload", {{"data", "imagenet"}}}}, "unknown data set 'imagenet'");
  refused({{"workload", {{"data", "synthetic"}}}, {"accuracy", true}}, "synthetic has no test images");
  refused({{"configuration", {{"precision", "int8"}}}}, "precision = \"int8\"");
  refused({{"configuration", {{"threads", -4}}}}, "threads = -4");
  refused({{"configuration", {{"batch", 101}}}}, "batch 101 is larger than the data set");
  refused({{"configuration", {{"precision", "bf16"}, {"isa", "AVX2"}}}}, "bf16 needs AVX512_CORE");
}

TEST_CASE("an instruction set cap is obeyed and reported", "[onednn]") {
  CommandRun talk;
  talk.request["configuration"]["isa"] = "SSE41";
  talk.request["steps"] = 1;
  CHECK(talk.run() == 0);
  CHECK(talk.events("ready").at(0).at("isa") == "SSE41");
}

TEST_CASE("with AVX2 no layer falls to the reference code", "[onednn]") {
  CommandRun talk;
  talk.request["configuration"]["isa"] = "AVX2";
  talk.request["steps"] = 1;
  CHECK(talk.run() == 0);
  const auto ready = talk.events("ready");
  for (const json& each : ready.at(0).at("implementations")) {
    INFO(each.dump());
    CHECK(each.at("reference") == false);
  }
}

TEST_CASE("damaged data and broken requests fail with a sentence", "[onednn]") {
  {
    CommandRun talk;
    std::fstream file(talk.path("train-images-idx3-ubyte.gz"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('x').put('y');
    file.close();
    CHECK(talk.run() == 1);
    CHECK(talk.end().at("status") == "failed");
    CHECK(talk.end().at("reason").get<std::string>().find("wrong checksum") != std::string::npos);
    CHECK(names(talk.events("phase_begin"), "name").back() == "data");  // the phase that was left open says where
  }
  CommandRun talk;
  talk.request["protocol"] = 99;
  CHECK(talk.run() == 1);
  CHECK(talk.events().front().at("event") == "hello");
  CHECK(talk.end().at("reason").get<std::string>().find("protocol 99") != std::string::npos);
}

}  // namespace nocturne
