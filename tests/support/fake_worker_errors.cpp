#include "tests/support/fake_worker_errors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "measure/protocol/event_writer.hpp"

namespace nocturne::fake {
namespace {

using nlohmann::json;
using protocol::EventWriter;

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

json sample(std::int64_t step, std::int64_t wall_ns) {
  return {{"event", "sample"}, {"first_step", step}, {"steps", 1}, {"wall_ns", wall_ns},
          {"cpu_ns", 1000},    {"data_wait_ns", 0},  {"loss", 1.0}};
}

json hello() {
  return {{"event", "hello"}, {"protocol", 1}, {"worker", "fake"}};
}
json end_ok() {
  return {{"event", "end"}, {"status", "ok"}, {"reason", ""}};
}

void write_lines(const std::string& events_file, const std::vector<json>& events, const std::string& rest = {}) {
  std::ofstream file(events_file, std::ios::app);
  for (const auto& event : events) file << event.dump() << '\n';
  file << rest;
}

void hang_in(EventWriter& events, const std::string& phase) {
  events.hello("fake");
  events.phase_begin("import");
  events.phase_end("import");
  if (phase != "import") events.phase_begin(phase);
  sleep_for_ever();
}

// Leaves its session, its parents and its environment, as a careful daemon does.
void leave_orphan(const Settings& settings) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    std::ofstream("orphan.pid") << ::getpid() << std::endl;
    const int null = ::open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) ::dup2(null, standard);
    char* argv[] = {const_cast<char*>(settings.program.c_str()), const_cast<char*>("--linger"), nullptr};
    char* environment[] = {nullptr};
    ::execve(argv[0], argv, environment);
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
  for (std::string pid; pid.empty(); std::ifstream("orphan.pid") >> pid) std::this_thread::yield();
}

// Three children with two children each; returns when all nine live.
void leave_grandchildren() {
  int born[2];
  if (::pipe(born) != 0) std::abort();
  const auto live = [&] {
    (void)!::write(born[1], "x", 1);
    linger();
  };
  for (int child = 0; child < 3; ++child) {
    if (::fork() != 0) continue;
    for (int grandchild = 0; grandchild < 2; ++grandchild)
      if (::fork() == 0) live();
    live();
  }
  char cry = 0;
  for (int count = 0; count < 9; ++count) (void)!::read(born[0], &cry, 1);
}

void eat(std::int64_t bytes) {
  constexpr std::uint32_t kBite = 4 << 20;
  std::vector<char*> kept;
  for (std::int64_t eaten = 0; eaten < bytes; eaten += std::int64_t{kBite}) {
    char* bite = static_cast<char*>(std::malloc(kBite));
    if (bite == nullptr) break;
    std::memset(bite, 1, kBite);
    kept.push_back(bite);
  }
  sleep_for_ever();
}

void eat_memory(const Settings& settings, const std::string& events_file) {
  EventWriter events(events_file);
  events.hello("fake");
  events.phase_begin("data");
  const std::int64_t bytes = settings.integer("bytes", 256 << 20);
  const std::int64_t processes = settings.integer("processes", 0);
  for (std::int64_t child = 0; child < processes; ++child)
    if (::fork() == 0) eat(bytes / processes);
  eat(processes > 0 ? 0 : bytes);
}

[[noreturn]] void flood_events(const std::string& events_file) {
  EventWriter events(events_file);
  events.hello("fake");
  for (std::int64_t step = 1;; ++step) events.sample({.first_step = step, .wall_ns = 1, .cpu_ns = 1, .loss = 1});
}

void flood_output(std::int64_t bytes) {
  std::string line(1023, 'x');
  line += '\n';
  for (std::int64_t done = 0; done < bytes; done += 1024) std::fwrite(line.data(), 1, line.size(), stdout);
  std::puts("the last line of the flood");
  std::fflush(stdout);
}

std::optional<int> end_with(const std::string& events_file, const char* status, const char* reason, int code) {
  EventWriter events(events_file);
  events.hello("fake");
  events.end(status, reason);
  return code;
}

// Puts something else in the place of the file `plant` of the run's folder: a FIFO, or a link to `target`.
void plant(const Settings& settings) {
  const std::string file = settings.configuration.at("plant");
  const std::string what = settings.configuration.at("plant_as");
  const std::string target = settings.configuration.value("target", std::string());
  ::unlink(file.c_str());
  int failed = 0;
  if (what == "fifo") failed = ::mkfifo(file.c_str(), 0600);
  if (what == "link") failed = ::symlink(target.c_str(), file.c_str());
  if (what == "second_name") failed = ::link(target.c_str(), file.c_str());
  if (what == "folder") failed = ::mkdir(file.c_str(), 0700);
  if (failed != 0) std::abort();
}

// Words that are wrong in one way each.
std::optional<int> lie(const std::string& mode, const std::string& file) {
  if (mode == "lie_version") write_lines(file, {{{"event", "hello"}, {"protocol", 7}, {"worker", "fake"}}, end_ok()});
  if (mode == "lie_order") write_lines(file, {hello(), sample(1, 1000), sample(2, 1000), sample(2, 1000), end_ok()});
  if (mode == "lie_negative") write_lines(file, {hello(), sample(1, -5), end_ok()});
  if (mode == "lie_time") write_lines(file, {hello(), sample(1, 3'600'000'000'000), end_ok()});
  if (mode == "lie_no_hello") write_lines(file, {sample(1, 1000), end_ok()});
  if (mode == "lie_steps") write_lines(file, {hello(), sample(1, 1000), end_ok()});
  if (mode == "not_json") write_lines(file, {hello()}, "step 1 took 5 ms\n");
  if (mode == "after_end") write_lines(file, {hello(), end_ok(), sample(1, 1000)});
  if (mode == "torn") write_lines(file, {hello(), sample(1, 1000)}, R"({"event":"sample","first_st)");
  if (mode == "no_end") write_lines(file, {hello(), sample(1, 1000)});
  return 0;
}

}  // namespace

void linger() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_IGN);
  sleep_for_ever();
}

void crash(int signal) {
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);  // a sanitizer would turn it into an exit
  ::raise(signal);
  std::abort();
}

std::optional<int> make_errors(const Settings& settings, const std::string& events_file) {
  const std::string& mode = settings.mode;
  if (settings.configuration.contains("plant")) plant(settings);
  if (mode == "unsupported") return end_with(events_file, "unsupported", "bf16 needs AVX512_BF16", 0);
  if (mode == "diverge") return end_with(events_file, "diverged", "loss is nan at step 3", 0);
  if (mode == "say_failed") return end_with(events_file, "failed", "the data are not there", 1);
  if (mode == "exit") {
    std::fputs("first line\nModuleNotFoundError: no module named 'mxnet'\n\n", stderr);
    return static_cast<int>(settings.integer("code", 3));
  }
  if (mode.starts_with("lie_") || mode == "not_json" || mode == "after_end" || mode == "torn" || mode == "no_end")
    return lie(mode, events_file);
  if (mode == "recite") {
    std::ofstream(events_file, std::ios::app) << settings.configuration.value("events", std::string());
    return 0;
  }
  if (mode == "hang_silent") sleep_for_ever();
  if (mode == "ignore_sigterm") ::signal(SIGTERM, SIG_IGN);
  if (mode == "orphan_hang") leave_orphan(settings);
  if (mode == "hang" || mode == "ignore_sigterm" || mode == "orphan_hang") {
    EventWriter events(events_file);
    hang_in(events, settings.configuration.value("phase", "build"));
  }
  if (mode == "crash" || mode == "stop_self") {
    EventWriter events(events_file);
    events.hello("fake");
    events.phase_begin("build");
    if (mode == "crash") crash(static_cast<int>(settings.integer("signal", SIGSEGV)));
    ::raise(SIGSTOP);
    sleep_for_ever();
  }
  if (mode == "flood_events") flood_events(events_file);
  if (mode == "eat_memory") eat_memory(settings, events_file);
  if (mode == "flood_output") flood_output(settings.integer("bytes", 32 << 20));
  if (mode == "orphan") leave_orphan(settings);
  if (mode == "grandchildren") leave_grandchildren();
  return std::nullopt;
}

}  // namespace nocturne::fake
