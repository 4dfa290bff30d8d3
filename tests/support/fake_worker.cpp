/// A worker for tests: trains nothing, and behaves as its mode says. `--mode NAME` or the configuration's "mode":
///
///   obey (default)   samples of `step_us` microseconds each, spent spinning; takes turns when asked
///   labour           the same in processor time, of which others can take some away
///   computed         the same without spending time: step times are a function of the configuration alone, 20 to 200
///   us; FAKE_SLOWER_PERCENT of the environment are added
///   hot              reports a device that lowered its clocks for heat in `thermal_percent` of its readings
///   hungry           holds `fixed_bytes` and `bytes_each` times `batch`; the larger its batch, the shorter its epochs
///   unsupported, diverge, say_failed      ends so;   not_finite   says ok, though its loss is not a number exit
///   prints a message and exits with `code`;   no_end   exits with 0 without its last word torn             its last
///   line is half an event hang             in the phase named by `phase`;   hang_silent   before its first word
///   ignore_sigterm   hangs, and SIGTERM does not impress it
///   crash            dies of `signal`;   stop_self   stops itself
///   grandchildren    leaves nine processes behind;   orphan   leaves one that has left session, parents and
///   environment orphan_hang      the same, and hangs flood_output     prints `bytes`;   flood_events   writes samples
///   without end eat_memory       touches memory up to `bytes`, in `processes` children if there are any lie_version,
///   lie_order, lie_negative, lie_time, lie_no_hello, lie_steps, not_json, after_end; recite says what is in `events`
///   ignore_turns     trains on when it should wait;   greedy   trains one step more than its turn crash_in_turn dies
///   in its turn number `turn`;   end_in_turn ends well in it
///
/// All that `computed` says of time is computed, but for a between-process spread of at most 10 us in its import.
/// A run that names a file as `until` waits after its first sample until that file is there; a pair does so for
/// `until_in_turns`. So a test finds it in the middle of its work, however long that takes.
///
/// A run that names a file as `plant` first puts something else in its place: `plant_as` fifo, link, second_name,
/// folder.
///
/// `ready` tells its surroundings: environment variables that begin with FAKE_, NOCTURNE_ and CUDA_, CPUs, session,
/// umask, folder.

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure/protocol/event_writer.hpp"
#include "measure/protocol/request.hpp"
#include "tests/support/fake_worker_errors.hpp"

namespace nocturne::fake {
namespace {

using nlohmann::json;

json surroundings() {
  json environment = json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("FAKE_") && !text.starts_with("NOCTURNE_") && !text.starts_with("CUDA_")) continue;
    const std::size_t equals = text.find('=');
    environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  json cpus = json::array();
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  const mode_t mask = ::umask(077);
  ::umask(mask);
  json descriptors = json::array();
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    descriptors.push_back(std::stoi(entry.path().filename().string()));
  return {{"threads", 1},
          {"versions", {{"fake", "1"}}},
          {"environment", environment},
          {"cpus", cpus},
          {"session_leader", ::getsid(0) == ::getpid()},
          {"umask", static_cast<int>(mask)},
          {"descriptors", descriptors},
          {"stdin", std::filesystem::read_symlink("/proc/self/fd/0").string()},
          {"folder", std::filesystem::current_path().string()}};
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash;
}

class FakeWorker {
 public:
  FakeWorker(const Settings& settings, const protocol::Request& request, const std::string& events)
      : settings_(settings), request_(request), events_file_(events), events_(events) {
    const char* key = request.turns ? "until_in_turns" : "until";
    until_ = settings.configuration.value(key, std::string());
  }

  int run() {
    begin();
    if (request_.turns && settings_.mode != "ignore_turns")
      take_turns();
    else if (request_.epochs > 0 && request_.curve)
      train_curve();
    else if (request_.epochs > 0)
      train_epochs();
    else
      train(request_.steps);
    if (settings_.mode == "hot") report_device();
    events_.memory(settings_.mode == "hungry" ? peak_bytes() : 8 << 20, 0);
    events_.end("ok", "");
    return 0;
  }

 private:
  void begin() {
    events_.hello("fake");
    events_.phase_begin("import");
    end_phase("import", 100'000 + static_cast<std::int64_t>(fnv1a(request_.run_id) % 10'000));
    events_.phase_begin("data");
    if (settings_.mode == "hungry") hold_memory();
    end_phase("data", 100'000);
    events_.ready(surroundings());
    events_.phase_begin("first_step");
    spend(step_ns());
    end_phase("first_step", step_ns());
  }

  // What is computed is not clocked either: on a busy machine an instant lasts for milliseconds.
  void end_phase(const char* name, std::int64_t computed_ns) {
    if (settings_.mode != "computed") return events_.phase_end(name);
    const double seconds = 1e-9 * static_cast<double>(computed_ns);
    const json event = {{"event", "phase_end"}, {"name", name}, {"wall_s", seconds}, {"cpu_s", seconds}};
    std::ofstream(events_file_, std::ios::app) << event.dump() << '\n';
  }

  [[nodiscard]] std::int64_t step_ns() const {
    if (settings_.mode == "hungry") return 20'000 + 100 * settings_.integer("batch", 1);
    if (settings_.mode != "computed") return settings_.integer("step_us", 50) * 1000;
    const char* slower = std::getenv("FAKE_SLOWER_PERCENT");
    const auto usual = 20'000 + static_cast<std::int64_t>(fnv1a(request_.configuration.dump()) % 180'000);
    return usual + usual * (slower != nullptr ? std::atoi(slower) : 0) / 100;
  }

  [[nodiscard]] static std::chrono::nanoseconds processor_time() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  // Spins: a sleep would end late by as much as a step lasts.
  void spend(std::int64_t nanoseconds) {
    if (settings_.mode == "computed") return;
    const bool labours = settings_.mode == "labour";
    const auto now = [labours] {
      return labours ? processor_time() : std::chrono::steady_clock::now().time_since_epoch();
    };
    const auto end = now() + std::chrono::nanoseconds(nanoseconds);
    while (now() < end) {
    }
  }

  // Its clock of the memory and its mean temperature it does not tell.
  void report_device() {
    const double thermal = static_cast<double>(settings_.integer("thermal_percent", 50)) / 100;
    events_.device({{"name", "Fake GPU"},
                    {"readings", 4},
                    {"energy_j", 12.5},
                    {"sm_clock_mhz", {{"min", 900.0}, {"mean", 1200.0}, {"max", 1500.0}}},
                    {"temperature_c", {{"min", 60.0}, {"max", 91.0}}},
                    {"power_w", {{"mean", 200.0}, {"max", 250.0}}},
                    {"throttled", {{"thermal", thermal}, {"power_cap", 1.0}}}});
  }

  // Long enough for who polls: a worker that is gone at once is never seen.
  void hold_memory() {
    constexpr std::int64_t kGreatDeal = 100 << 20;  // somebody is going to mind
    const auto bytes = settings_.integer("fixed_bytes", 8 << 20) +
                       settings_.integer("bytes_each", 1 << 18) * settings_.integer("batch", 1);
    held_.assign(static_cast<std::size_t>(bytes), 1);
    if (bytes > kGreatDeal) std::this_thread::sleep_for(std::chrono::seconds(20));
  }

  void await_file() const {
    while (!until_.empty() && !std::filesystem::exists(until_))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  [[nodiscard]] static std::int64_t peak_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
  }

  void train(std::int64_t steps) {
    while (steps > 0) {
      const std::int64_t count = std::min(steps, request_.steps_per_sample);
      const auto begin = std::chrono::steady_clock::now();
      spend(count * step_ns());
      std::int64_t wall = count * step_ns();
      if (settings_.mode != "computed") wall = (std::chrono::steady_clock::now() - begin).count();
      const double loss = settings_.mode == "not_finite" ? std::nan("") : 2.3 / static_cast<double>(next_step_);
      const std::int64_t cpu = settings_.mode == "labour" ? count * step_ns() : wall;
      events_.sample(
          {.first_step = next_step_, .steps = count, .wall_ns = wall, .cpu_ns = cpu, .data_wait_ns = 0, .loss = loss});
      next_step_ += count;
      steps -= count;
      await_file();
    }
  }

  // Ten steps each; the first epoch has as much again to do.
  void train_epochs() {
    constexpr std::int64_t kSteps = 10;
    for (std::int64_t epoch = 0; epoch < request_.epochs; ++epoch) {
      train(kSteps);
      events_.epoch(epoch, std::chrono::nanoseconds((epoch == 0 ? 2 : 1) * kSteps * step_ns()), 0.1);
    }
  }

  // Epochs of ten steps. It is 90 % accurate after so many tenths of an epoch, and a little sooner or later by the
  // seed.
  void train_curve() {
    const double needed = 0.1 * static_cast<double>(settings_.integer("tenths", 20)) *
                          (1 + 0.02 * static_cast<double>(request_.seed % 5));
    const std::int64_t points = request_.curve->points_per_epoch;
    for (std::int64_t point = 1; point <= request_.epochs * points; ++point) {
      train(std::max<std::int64_t>(0, 10 * point / points - next_step_));
      const double epochs = static_cast<double>(point) / static_cast<double>(points);
      const double accuracy = std::clamp(0.9 + 0.05 * (epochs - needed), 0.0, 1.0);
      events_.accuracy_after(10 * point / points, accuracy, 0.1, 1000);
      if (accuracy >= request_.curve->until.value_or(2)) return;
    }
  }

  void take_turns() {
    std::ifstream turns(*request_.turns);
    std::int64_t steps = 0;
    for (std::int64_t turn = 1; turns >> steps; ++turn) {
      const bool is_last = turn == settings_.integer("turn", 2);
      if (settings_.mode == "crash_in_turn" && is_last) crash(SIGSEGV);
      if (settings_.mode == "end_in_turn" && is_last) return;
      train(settings_.mode == "greedy" ? steps + 1 : steps);
    }
  }

  const Settings& settings_;
  const protocol::Request& request_;
  std::string events_file_, until_;
  protocol::EventWriter events_;
  std::int64_t next_step_ = 1;
  std::vector<char> held_;
};

int main(int argc, char** argv) {
  std::string request_file, events_file;
  Settings settings;
  for (int index = 1; index < argc; ++index) {
    const std::string word = argv[index];
    if (word == "--linger") linger();
    if (index + 1 >= argc) continue;
    if (word == "--mode") settings.mode = argv[++index];
    if (word == "--request") request_file = argv[++index];
    if (word == "--events") events_file = argv[++index];
  }
  std::ifstream file(request_file);
  const protocol::Request request = protocol::parse_request(json::parse(file));
  settings.configuration = request.configuration;
  settings.steps = request.steps;
  settings.mode = request.configuration.value("mode", settings.mode);
  settings.program = argv[0];
  if (const auto code = make_errors(settings, events_file)) return *code;
  return FakeWorker(settings, request, events_file).run();
}

}  // namespace
}  // namespace nocturne::fake

int main(int argc, char** argv) {
  try {
    return nocturne::fake::main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
