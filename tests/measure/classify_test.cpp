#include "measure/run/classify.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>

#include <functional>
#include <vector>

using namespace nocturne;
using namespace nocturne::measure;
using space::Outcome;

namespace {

struct Case {
  const char* what;
  std::function<void(Events&, ExitFacts&, WorkerTask&)> change;  ///< changes the events of a run that went well
  Outcome outcome;
  std::string reason;
};

// A run that went well: two samples of one second each in a process that lived three.
void well(Events& events, ExitFacts& facts, WorkerTask& asked) {
  events.worker = "w";
  events.phases = {{"build", {}, {}, true}};
  events.samples = {{1, 1, std::chrono::seconds(1), {}, {}, 1.0}, {2, 1, std::chrono::seconds(1), {}, {}, 1.0}};
  events.end = EndEvent{"ok", ""};
  facts.exit_code = 0;
  facts.wall = std::chrono::seconds(3);
  facts.limit = std::chrono::seconds(60);
  asked.steps = 2;
}

void died(ExitFacts& facts, int signal) {
  facts.exit_code.reset();
  facts.signal = signal;
}

const std::vector<Case> kCases = {
    {"nothing wrong", [](Events&, ExitFacts&, WorkerTask&) {}, Outcome::Ok, ""},
    {"could not be started",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       e = {};
       f.start_error = "cannot start x: No such file";
     },
     Outcome::Failed, "cannot start x: No such file"},
    {"killed by the caller",
     [](Events&, ExitFacts& f, WorkerTask&) {
       died(f, SIGKILL);
       f.interrupted = true;
       f.interrupted_reason = "interrupted";
     },
     Outcome::Killed, "interrupted"},
    {"evidence beats signal",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGKILL);
       f.memory_evidence = "it held 2 GiB";
       e.end.reset();
     },
     Outcome::OutOfMemory, "it held 2 GiB, after step 2"},
    {"a kill without evidence is a crash",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGKILL);
       e.end.reset();
     },
     Outcome::Crashed, "SIGKILL (killed), after step 2"},
    {"hung in a phase",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGTERM);
       f.timed_out = true;
       e.samples.clear();
       e.phases.push_back({"compile", {}, {}, false});
     },
     Outcome::Timeout, "not finished within 60 s, in phase 'compile'"},
    {"hung before a word",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGTERM);
       f.timed_out = true;
       f.limit = std::chrono::milliseconds(1500);
       e = {};
     },
     Outcome::Timeout, "not finished within 1500 ms, before 'hello'"},
    {"crashed",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGSEGV);
       e.end.reset();
       e.phases.push_back({"build", {}, {}, false});
     },
     Outcome::Crashed, "SIGSEGV (segmentation fault), in phase 'build'"},
    {"exit code, log",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       f.exit_code = 3;
       f.last_log_line = "no module";
       e.end.reset();
     },
     Outcome::Failed, "exit code 3: no module"},
    {"exit code, its own words",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       f.exit_code = 1;
       f.last_log_line = "x";
       e.end = EndEvent{"failed", "no data"};
     },
     Outcome::Failed, "exit code 1: no data"},
    {"unsupported",
     [](Events& e, ExitFacts&, WorkerTask&) {
       e.samples.clear();
       e.end = EndEvent{"unsupported", "no bf16"};
     },
     Outcome::Unsupported, "no bf16"},
    {"out of a device's memory by its own words",
     [](Events& e, ExitFacts&, WorkerTask&) {
       e.samples.clear();
       e.phases.push_back({"compile", {}, {}, false});
       e.end = EndEvent{"out_of_memory", "the GPU refused 2 GiB"};
     },
     Outcome::OutOfMemory, "the GPU refused 2 GiB, in phase 'compile'"},
    {"diverged by its own words", [](Events& e, ExitFacts&, WorkerTask&) { e.end = EndEvent{"diverged", "nan at 2"}; },
     Outcome::Diverged, "nan at 2"},
    {"diverged without noticing", [](Events& e, ExitFacts&, WorkerTask&) { e.not_finite_at = 2; }, Outcome::Diverged,
     "loss not finite at step 2"},
    {"silence", [](Events& e, ExitFacts&, WorkerTask&) { e = {}; }, Outcome::ProtocolError,
     "exited with 0 without a single event"},
    {"no last word",
     [](Events& e, ExitFacts&, WorkerTask&) {
       e.end.reset();
       e.torn = true;
     },
     Outcome::ProtocolError, "exited with 0 without 'end', after step 2; its last line is torn"},
    {"an error in its events", [](Events& e, ExitFacts&, WorkerTask&) { e.error = EventError{7, "not JSON: x"}; },
     Outcome::ProtocolError, "events, line 7: not JSON: x"},
    {"a flood ends in a kill that is not the caller's",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       died(f, SIGTERM);
       f.interrupted = true;
       e.overflow = true;
       e.error = EventError{9, "more than 5 bytes of events"};
     },
     Outcome::ProtocolError, "events, line 9: more than 5 bytes of events"},
    {"times that cannot be", [](Events&, ExitFacts& f, WorkerTask&) { f.wall = std::chrono::seconds(1); },
     Outcome::ProtocolError, "its samples last 2 s in all, the process lived 1 s"},
    {"the line where it cannot be any more",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       e.lines.samples = {5, 6};
       f.wall = std::chrono::seconds(1);
     },
     Outcome::ProtocolError, "events, line 6: its samples last 2 s in all, the process lived 1 s"},
    {"clocks that differ a little",
     [](Events&, ExitFacts& f, WorkerTask&) { f.wall = std::chrono::milliseconds(1960); }, Outcome::Ok, ""},
    {"epochs longer than its life",
     [](Events& e, ExitFacts&, WorkerTask&) {
       e.epochs = {{0, std::chrono::seconds(2), 1.0}, {1, std::chrono::seconds(2), 1.0}};
     },
     Outcome::ProtocolError, "its epochs last 4 s in all, the process lived 3 s"},
    {"all processors at work in all it says",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       f.processors = 4;
       for (auto& sample : e.samples) sample.cpu = std::chrono::seconds(4);
       e.phases = {{"build", std::chrono::seconds(3), std::chrono::seconds(12), true},
                   {"link", std::chrono::seconds(3), std::chrono::seconds(12), true}};
       e.epochs = {{0, std::chrono::seconds(3), 1.0}};
     },
     Outcome::Ok, ""},
    {"more than all processors",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       f.processors = 4;
       for (auto& sample : e.samples) sample.cpu = std::chrono::seconds(7);
     },
     Outcome::ProtocolError, "its samples take a processor time of 14 s in all, the process lived 3 s on 4 CPUs"},
    {"processors that nobody counted",
     [](Events& e, ExitFacts&, WorkerTask&) {
       for (auto& sample : e.samples) sample.cpu = std::chrono::seconds(7);
     },
     Outcome::Ok, ""},
    {"more waiting than life",
     [](Events& e, ExitFacts&, WorkerTask&) {
       for (auto& sample : e.samples) sample.data_wait = std::chrono::seconds(2);
     },
     Outcome::ProtocolError, "its waits for data last 4 s in all, the process lived 3 s"},
    {"a phase again and again",
     [](Events& e, ExitFacts&, WorkerTask&) {
       e.phases = {{"build", std::chrono::seconds(2), {}, true}, {"build", std::chrono::seconds(2), {}, true}};
     },
     Outcome::ProtocolError, "its phases 'build' last 4 s in all, the process lived 3 s"},
    {"a phase of more than all processors",
     [](Events& e, ExitFacts& f, WorkerTask&) {
       f.processors = 1;
       e.phases = {{"build", std::chrono::seconds(2), std::chrono::seconds(4), true}};
     },
     Outcome::ProtocolError, "its phases 'build' take a processor time of 4 s in all, the process lived 3 s on 1 CPU"},
    {"steps shorter than reading the clock",
     [](Events& e, ExitFacts&, WorkerTask&) {
       for (auto& sample : e.samples) sample.wall = std::chrono::nanoseconds(1);
     },
     Outcome::ProtocolError, "2 steps in 2e-09 s in all: no step is that short"},
    {"one sample rounded down to nothing",
     [](Events& e, ExitFacts&, WorkerTask&) { e.samples[0].wall = std::chrono::nanoseconds(1); }, Outcome::Ok, ""},
    {"little of its life is accounted for", [](Events&, ExitFacts& f, WorkerTask&) { f.wall = std::chrono::hours(9); },
     Outcome::Ok, ""},
    {"fewer steps than asked for", [](Events&, ExitFacts&, WorkerTask& a) { a.steps = 40; }, Outcome::ProtocolError,
     "it said 'ok' after 2 of 40 steps"},
    {"no sample at all",
     [](Events& e, ExitFacts&, WorkerTask& a) {
       e.samples.clear();
       a.steps = 0;
     },
     Outcome::ProtocolError, "it said 'ok' without a sample"},
    {"no accuracy", [](Events&, ExitFacts&, WorkerTask& a) { a.accuracy = true; }, Outcome::ProtocolError,
     "it said 'ok' without the accuracy that was asked for"},
};

}  // namespace

TEST_CASE("each way to end has its outcome and its reason", "[classify]") {
  for (const Case& one : kCases) {
    CAPTURE(one.what);
    Events events;
    ExitFacts facts;
    WorkerTask asked;
    well(events, facts, asked);
    one.change(events, facts, asked);
    const Judgement judgement = classify(events, facts, asked);
    CHECK(space::to_text(judgement.outcome) == space::to_text(one.outcome));
    CHECK(judgement.reason == one.reason);
  }
}

TEST_CASE("signals have names", "[classify]") {
  CHECK(signal_name(SIGILL) == "SIGILL (illegal instruction)");
  CHECK(signal_name(SIGFPE) == "SIGFPE (floating point exception)");
  CHECK(signal_name(200) == "signal 200");
}
