#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/command/child.hpp"
#include "kernels/command/command_run.hpp"
#include "kernels/command/line_rule.hpp"
#include "kernels/command/options.hpp"
#include "kernels/command/output_steps.hpp"
#include "measure/run/command_template.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using command::LineRule;

namespace {

command::LineReading reading_of(const std::string& pattern, const std::string& line, std::int64_t batch = 1) {
  const auto reading = LineRule(pattern, batch).read(line);
  REQUIRE(reading);
  return *reading;
}

std::vector<nlohmann::json> events_in(const std::filesystem::path& file, const std::string& name) {
  std::ifstream stream(file);
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json event = nlohmann::json::parse(line);
    if (event["event"] == name) events.push_back(std::move(event));
  }
  return events;
}

std::vector<nlohmann::json> samples_in(const std::filesystem::path& file) {
  return events_in(file, "sample");
}

// What it prints is passed on: not between the lines of a report of tests.
class MutedOutput {
 public:
  MutedOutput() {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  MutedOutput(const MutedOutput&) = delete;
  MutedOutput& operator=(const MutedOutput&) = delete;
  ~MutedOutput() {
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }

 private:
  int kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
};

// Runs a shell's script whose lines "step" are steps. With a curve its lines "accuracy N" are points.
int converse_with(const std::string& script, std::int64_t steps, const std::filesystem::path& file,
                  const std::optional<protocol::CurveRequest>& curve = {}) {
  command::Options options;
  options.timing = command::Timing::Pattern;
  options.pattern = "^step$";
  options.accuracy = "^accuracy ([0-9.]+)";
  options.command = {"sh", "-c", script};
  protocol::Request request;
  request.steps = steps;
  request.curve = curve;
  protocol::EventWriter events(file.string());
  return command::converse(options, request, events);
}

}  // namespace

TEST_CASE("a pattern reads what a line says of a step", "[command]") {
  CHECK(reading_of("([0-9.]+) s/step", "epoch 1: 0.25 s/step").step_seconds == 0.25);
  CHECK(reading_of("(?P<step_milliseconds>[0-9.]+) ms", "12.5 ms").step_seconds == Catch::Approx(0.0125));
  CHECK(reading_of("(?P<samples_per_second>[0-9,.]+) images/s", "1,280.0 images/s", 128).step_seconds ==
        Catch::Approx(0.1));
  CHECK(reading_of("(?P<steps_per_second>[0-9.]+)it/s", "8it/s").step_seconds == 0.125);
  const auto both = reading_of("step (?P<step>[0-9]+) loss (?P<loss>\\S+)", "step 7 loss 0.5");
  CHECK(both.step == 7);
  CHECK(both.loss == 0.5);
  CHECK(!both.step_seconds);
  CHECK(reading_of("done", "step done").step_seconds == std::nullopt);
  const std::string epoch = "\\[(?P<samples>[0-9]+)/[0-9]+ .*Loss: (?P<loss>\\S+)";
  CHECK(reading_of(epoch, "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3", 64).step == 10);
  CHECK(reading_of(epoch, "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3").step == 640);
}

TEST_CASE("a line that does not match, or holds no number, is no step", "[command]") {
  const LineRule rule("(?P<step_seconds>\\S+) s", 1);
  CHECK(!rule.read("nothing"));
  CHECK(!rule.read("many s"));
  CHECK(!rule.read("-1 s"));
  CHECK(!rule.read("inf s"));
  CHECK(!rule.read(std::string(1 << 20, 'x')));
  CHECK(!LineRule("(?P<steps_per_second>[0-9]+)it", 1).read("0it"));
}

TEST_CASE("a pattern reads how accurate a line says that the network is", "[command]") {
  using command::AccuracyRule;
  const std::string digits = "Accuracy: (?P<right>[0-9]+)/(?P<of>[0-9]+)";
  CHECK(AccuracyRule(digits).read("Test set: loss: 0.06, Accuracy: 9,812/10000 (98%)") == std::nullopt);  // not a digit
  CHECK(AccuracyRule(digits).read("Test set: loss: 0.06, Accuracy: 9812/10000 (98%)") == 0.9812);
  CHECK(AccuracyRule("val_accuracy: ([0-9.]+)").read("loss: 0.1 val_accuracy: 0.9876") == 0.9876);
  CHECK(*AccuracyRule("acc ([0-9.]+)").read("acc 98.5 %") == Catch::Approx(0.985));
  CHECK(*AccuracyRule("acc (?P<percent>[0-9.]+)").read("acc 0.5") == Catch::Approx(0.005));
  CHECK(AccuracyRule("acc (?P<accuracy>[0-9.]+)").read("acc 98.5") == std::nullopt);
  CHECK(AccuracyRule("acc (\\S+)").read("acc nan") == std::nullopt);
  CHECK(AccuracyRule(digits).read("Accuracy: 0/0") == std::nullopt);
  CHECK(AccuracyRule(digits).read("nothing") == std::nullopt);
  CHECK_THROWS_AS(AccuracyRule("accuracy"), std::runtime_error);
  CHECK_THROWS_AS(AccuracyRule("(?P<right>[0-9]+)"), std::runtime_error);
  for (const std::string& name : measure::accuracy_groups())
    CHECK_NOTHROW(AccuracyRule("(?P<" + name + ">x)" + (name == "of" ? "(?P<right>x)" : "") +
                               (name == "right" ? "(?P<of>x)" : "")));
}

TEST_CASE("a learning curve goes on until the accuracy is reached, or as long as it may", "[command]") {
  const test::TemporaryFolder folder;
  const MutedOutput quiet;
  const std::string script =
      "echo accuracy 0.1; for epoch in 1 2 3 4 5; do echo step; sleep 0.02; echo step; sleep 0.02; "
      "echo accuracy 0.$((epoch + 4)); echo accuracy 0.99; done";
  const auto curve = [&](std::int64_t steps, std::optional<double> until, const char* name) {
    const auto file = folder.path() / name;
    CHECK(converse_with(script, steps, file, protocol::CurveRequest{.points_per_epoch = 1, .until = until}) == 0);
    CHECK(events_in(file, "end").at(0)["status"] == "ok");
    std::vector<std::pair<std::int64_t, double>> points;
    for (const auto& event : events_in(file, "accuracy")) points.emplace_back(event["steps"], event["accuracy"]);
    return points;
  };
  using Points = std::vector<std::pair<std::int64_t, double>>;
  // What is said before a step, and again behind the same one, is no point.
  CHECK(curve(1000, 0.7, "reached") == Points{{2, 0.5}, {4, 0.6}, {6, 0.7}});
  CHECK(curve(4, 0.7, "given up") == Points{{2, 0.5}, {4, 0.6}});
  CHECK(curve(1000, std::nullopt, "to its end") == Points{{2, 0.5}, {4, 0.6}, {6, 0.7}, {8, 0.8}, {10, 0.9}});
  const auto silent = folder.path() / "silent";
  CHECK(converse_with("echo step; echo step", 9, silent, protocol::CurveRequest{}) == 0);
  CHECK(events_in(silent, "end").at(0)["status"] == "failed");
  CHECK_THAT(events_in(silent, "end").at(0)["reason"].get<std::string>(), ContainsSubstring("how accurate"));
}

TEST_CASE("every group that campaign files may name is known to the worker, and no other", "[command]") {
  for (const std::string& name : measure::pattern_groups()) {
    CAPTURE(name);
    CHECK_NOTHROW(LineRule("(?P<" + name + ">[0-9.]+)", 1));
  }
  CHECK_THROWS_MATCHES(LineRule("(?P<sekunden>x)", 1), std::runtime_error,
                       MessageMatches(ContainsSubstring("sekunden")));
  CHECK_THROWS_AS(LineRule("(", 1), std::runtime_error);
}

TEST_CASE("examples counted by an epoch become the steps between two lines, and a new epoch begins again",
          "[command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "events.jsonl";
  protocol::EventWriter events(file.string());
  events.phase_begin("first_step");
  const LineRule rule("\\[(?P<samples>[0-9]+)/60000 ", 64);
  command::OutputSteps steps(rule, events);
  const command::OutputSteps::Clock::time_point begin{};
  int second = 0;
  for (const char* seen : {"0", "640", "1280", "0", "1280", "1285"})
    steps.line("Train Epoch: 1 [" + std::string(seen) + "/60000 (1%)]\tLoss: 2.3", begin + ++second * 1s);
  CHECK(steps.steps() == 10 + 10 + 20);  // nothing from epoch to epoch, nothing for less than a batch
}

TEST_CASE("lines in pieces become samples, the first ends the first step", "[command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "events.jsonl";
  protocol::EventWriter events(file.string());
  events.phase_begin("first_step");
  const LineRule rule("step (?P<step>[0-9]+)(?: loss (?P<loss>[0-9.]+|nan))?", 1);
  command::OutputSteps steps(rule, events);
  command::OutputSteps::Clock::time_point now{};
  command::OutputLines lines;
  const auto line = [&](std::string_view text) { steps.line(text, now); };
  const auto take = [&](std::string_view output, std::chrono::seconds passed) {
    now += passed;
    lines.take(output, line);
  };
  take("hello\nste", 0s);
  CHECK(!steps.begun());
  take("p 10\n", 1s);
  CHECK(steps.begun());
  take("step 12 loss 0.5\rstep 1", 1s);
  take("3\nstep 1\n", 1s);  // another epoch's first: no sample
  take("step 2 loss nan", 2s);
  lines.finish(line);
  CHECK(steps.steps() == 4);
  const auto samples = samples_in(file);
  REQUIRE(samples.size() == 3);
  CHECK(samples[0]["steps"] == 2);
  CHECK(samples[0]["first_step"] == 1);
  CHECK(samples[0]["wall_ns"] == 1'000'000'000);
  CHECK(samples[0]["loss"] == 0.5);
  CHECK(!samples[1].contains("loss"));
  CHECK(samples[1]["wall_ns"] == 1'000'000'000);
  CHECK(samples[2]["wall_ns"] == 2'000'000'000);
  CHECK(samples[2]["loss"] == "nan");
}

TEST_CASE("the worker's last four words are not the command's", "[command]") {
  const auto options = command::read_options({"--time", "pattern", "--pattern", "x", "--folder", "/f", "--", "./t",
                                              "--request", "mine", "--request", "r", "--events", "e"});
  CHECK(options.command == std::vector<std::string>{"./t", "--request", "mine"});
  CHECK(options.request == "r");
  CHECK(options.events == "e");
  CHECK(options.folder == "/f");
  using Words = std::vector<std::string>;
  for (const Words& wrong : {Words{}, Words{"--", "./t"}, Words{"--", "--request", "r", "--events", "e"},
                             Words{"--time", "x", "--", "t", "--request", "r", "--events", "e"},
                             Words{"--time", "pattern", "--", "t", "--request", "r", "--events", "e"},
                             Words{"--pattern", "x", "--", "t", "--request", "r", "--events", "e"},
                             Words{"--fodler", "x", "--", "t", "--request", "r", "--events", "e"}}) {
    CHECK_THROWS_AS(command::read_options(wrong), std::runtime_error);
  }
}

TEST_CASE("an absurdly long time does not become a short one", "[command]") {
  CHECK(command::nanoseconds_in(0.5) == 500ms);
  CHECK(command::nanoseconds_in(1.7e12) == std::chrono::nanoseconds(1'000'000'000'000'000));  // a date, in ms
}

TEST_CASE("a command that prints faster than it is read is left when it has done its steps", "[command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "events.jsonl";
  const MutedOutput quiet;
  CHECK(converse_with("yes step | head -c 1000000", 5, file) == 0);
  CHECK(samples_in(file).size() >= 5);
  CHECK(samples_in(file).size() < 20'000);  // it would print 200,000
  CHECK(events_in(file, "end").at(0)["status"] == "ok");
}

TEST_CASE("where no steps are asked for behind the first, the first is awaited", "[command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "events.jsonl";
  const MutedOutput quiet;
  CHECK(converse_with("sleep 0.3; echo step; exec sleep 60", 0, file) == 0);
  CHECK(events_in(file, "phase_end").size() == 1);
  CHECK(samples_in(file).empty());
  CHECK(events_in(file, "end").at(0)["status"] == "ok");
}

TEST_CASE("that nobody reads the log is no reason to end", "[command]") {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "events.jsonl";
  const pid_t worker = ::fork();
  REQUIRE(worker >= 0);
  if (worker == 0) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(9);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::_exit(converse_with("echo step; echo step; echo step", 2, file));
  }
  int status = 0;
  REQUIRE(::waitpid(worker, &status, 0) == worker);
  CHECK(WIFEXITED(status));
  CHECK(events_in(file, "end").at(0)["status"] == "ok");
}

TEST_CASE("how a command ended is known where the ends of children were ignored", "[command]") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  command::Child child({.argv = {"false"}, .folder = {}, .environment = {}});
  const command::ChildEnd end = child.wait();
  ::signal(SIGCHLD, before);
  CHECK(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 1);
}

// As a launcher does whose other processes fail when the one that speaks has left them.
TEST_CASE("a command that fails when all that was wanted of it is there has not failed", "[command]") {
  const test::TemporaryFolder folder;
  const auto events_file = folder.path() / "events.jsonl";
  command::Options options;
  options.events = events_file.string();
  protocol::Request request;
  request.steps = 2;
  const auto ends_ok = [&](const std::string& script) {
    std::filesystem::remove(events_file);
    std::filesystem::remove(folder.path() / "steps.pid");
    options.command = {"sh", "-c", script + "; exit 1"};
    protocol::EventWriter events(events_file.string());
    const int code = command::converse(options, request, events);
    const auto ends = events_in(events_file, "end");
    CHECK(code == (ends.empty() ? 1 : 0));
    return !ends.empty() && ends.back()["status"] == "ok";
  };
  const std::string speaks = R"(echo $$ > "$NOCTURNE_STEPS_PID_FILE"; )";
  const std::string sample = R"(echo '{"event": "sample", "steps": 1}' >> "$NOCTURNE_STEPS_EVENTS")";

  options.timing = command::Timing::Steps;
  CHECK_FALSE(ends_ok(speaks + sample));
  CHECK(ends_ok(speaks + sample + "; " + sample));

  request.turns = "turns";
  CHECK_FALSE(ends_ok(speaks + sample + "; " + sample));
  CHECK(ends_ok(speaks + R"(printf ' ended' >> "$NOCTURNE_STEPS_PID_FILE")"));
  request.turns.reset();

  options.timing = command::Timing::Process;
  const std::string learnt = (folder.path() / "learning.json").string();
  ::setenv("NOCTURNE_INJECT_LEARNING", learnt.c_str(), 1);
  CHECK_FALSE(ends_ok("true"));
  CHECK(ends_ok("touch '" + learnt + "'"));
  CHECK(samples_in(events_file).size() == 1);
  ::unsetenv("NOCTURNE_INJECT_LEARNING");
  CHECK_FALSE(ends_ok("true"));
}

TEST_CASE("a command that cannot be started leaves no file open", "[command]") {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  const command::ChildPlan plan{.argv = {"./no-such-program"}, .folder = {}, .environment = {}, .read_output = true};
  for (int again = 0; again < 3; ++again) {
    CHECK_THROWS_MATCHES(command::Child(plan), std::runtime_error,
                         MessageMatches(ContainsSubstring("cannot start './no-such-program': No such file")));
  }
  CHECK(open_files() == before);
}

TEST_CASE("the shim is found wherever its path begins", "[command]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "shim.py") << "pass\n";
  command::Options options;
  options.timing = command::Timing::Steps;
  options.shim = std::filesystem::relative(folder.path() / "shim.py").string();
  options.command = {"sh", "-c", "test -f \"${PYTHONPATH%%:*}/shim.py\""};
  options.events = (folder.path() / "events.jsonl").string();
  protocol::EventWriter events(options.events);
  CHECK(command::converse(options, {}, events) == 0);  // the command's own code where that is not 0
}
