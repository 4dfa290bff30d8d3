#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"

struct CUstream_st {
  std::deque<nocturne::simulated::Work> work;
  std::optional<std::vector<nocturne::simulated::Work>> captured;  ///< work is kept there
  bool eager = false;
  bool running = false;
};

namespace nocturne::simulated {
namespace {

CUstream_st default_stream;
std::set<CUstream_st*> streams = {&default_stream};
float clock_ms = 0;

CUstream_st& known(cudaStream_t stream) {
  if (stream == nullptr) return default_stream;
  if (!streams.contains(stream)) fail("a stream that is none");
  return *stream;
}

void run_first(CUstream_st& stream) {
  const Access access;
  const Work work = std::move(stream.work.front());
  stream.work.pop_front();
  stream.running = true;  // what waits within is not overtaken by what comes after
  work.run();
  stream.running = false;
  clock_ms += 0.001F * work.passes;
}

// Eager streams run as far as they may.
void run_eager() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (CUstream_st* each : streams) {
      if (!each->eager || each->running || each->work.empty()) continue;
      if (each->work.front().ready && !each->work.front().ready()) continue;
      run_first(*each);
      moved = true;
    }
  }
}

// Runs the stream's work in order, until there is none or `enough` says so.
template <typename Enough>
void run(CUstream_st& stream, const Enough& enough) {
  const Access access;
  if (stream.running) fail("a stream waits for what comes after it");
  while (!stream.work.empty() && !enough()) {
    run_first(stream);
    run_eager();
  }
}

bool is_eager(unsigned number) {
  const char* named = std::getenv("NOCTURNE_SIMULATED_EAGER");
  return named != nullptr && std::strchr(named, static_cast<int>('0' + number)) != nullptr;
}

void reach_time(CUevent_st& event, std::uint64_t time) {
  if (event.reached >= time) return;
  run(known(event.stream), [&] { return event.reached >= time; });
  if (event.reached < time) fail("an event is waited for that nothing will reach");
}

}  // namespace

cudaStream_t make_stream() {
  static unsigned made = 0;
  return *streams.insert(new CUstream_st{.eager = is_eager(made++)}).first;
}

void end_stream(cudaStream_t stream) {
  drain(stream);
  streams.erase(stream);
  delete stream;
}

void enqueue(cudaStream_t stream, std::function<void()> run, float passes) {
  put(stream, {.run = std::move(run), .passes = passes});
}

void put(cudaStream_t stream, Work work) {
  CUstream_st& on = known(stream);
  if (on.captured)
    on.captured->push_back(std::move(work));
  else
    on.work.push_back(std::move(work));
  run_eager();
}

void drain(cudaStream_t stream) {
  run(known(stream), [] { return false; });
}

void drain_all() {
  for (CUstream_st* each : streams) run(*each, [] { return false; });
}

void record(cudaStream_t stream, CUevent_st& event) {
  event.stream = stream;
  const std::uint64_t time = ++event.recorded;
  const auto reached = [&event, time] {
    event.reached = std::max(event.reached, time);
    event.at_ms = clock_ms;
  };
  enqueue(stream, reached, 0);
}

void let_wait(cudaStream_t stream, CUevent_st& event) {
  const std::uint64_t time = event.recorded;
  put(stream, {.run = [&event, time] { reach_time(event, time); },
               .passes = 0,
               .ready = [&event, time] { return event.reached >= time; }});
}

void reach(CUevent_st& event) {
  reach_time(event, event.recorded);
}

bool begin_capture(cudaStream_t stream) {
  if (stream == nullptr || is_captured(stream)) return false;
  stream->captured.emplace();
  return true;
}

bool is_captured(cudaStream_t stream) {
  return known(stream).captured.has_value();
}

std::vector<Work> end_capture(cudaStream_t stream) {
  return *std::exchange(known(stream).captured, std::nullopt);
}

bool capturing() {
  return std::ranges::any_of(streams, [](const CUstream_st* each) { return each->captured.has_value(); });
}

}  // namespace nocturne::simulated
