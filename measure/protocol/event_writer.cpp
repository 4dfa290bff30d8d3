#include "measure/protocol/event_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "measure/protocol/request.hpp"

namespace nocturne::protocol {
namespace {

std::int64_t nanoseconds_between(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
}

// JSON has no infinity; a diverged loss travels as a word. The bits are looked at, because a worker may be built with
// -ffast-math, for which std::isfinite() is always true.
nlohmann::json number(double value) {
  constexpr std::uint64_t kExponent = 0x7ff0000000000000, kMantissa = 0x000fffffffffffff;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if ((bits & kExponent) != kExponent) return value;
  if ((bits & kMantissa) != 0) return "nan";
  return (bits >> 63U) == 0 ? "inf" : "-inf";
}

}  // namespace

std::chrono::nanoseconds process_cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

EventWriter::EventWriter(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error("events: " + path + ": " + std::strerror(errno));
}

EventWriter::~EventWriter() {
  if (file_ >= 0) ::close(file_);
}

void EventWriter::write(const nlohmann::json& event) const {
  std::string line = event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  line.push_back('\n');
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(file_, line.data() + done, line.size() - done);
    if (count < 0) {
      if (errno == EINTR) continue;
      throw std::runtime_error(std::string("events: ") + std::strerror(errno));
    }
    done += static_cast<std::size_t>(count);
  }
}

void EventWriter::hello(const std::string& worker) {
  write({{"event", "hello"}, {"protocol", kVersion}, {"worker", worker}});
}

void EventWriter::phase_begin(const std::string& name) {
  open_phases_[name] = {std::chrono::steady_clock::now(), process_cpu_time()};
  write({{"event", "phase_begin"}, {"name", name}});
}

void EventWriter::phase_end(const std::string& name) {
  const auto start = open_phases_.find(name);
  if (start == open_phases_.end()) throw std::logic_error("phase_end without phase_begin: " + name);
  const double wall = static_cast<double>(nanoseconds_between(start->second.wall)) * 1e-9;
  const double cpu = std::chrono::duration<double>(process_cpu_time() - start->second.cpu).count();
  open_phases_.erase(start);
  write({{"event", "phase_end"}, {"name", name}, {"wall_s", wall}, {"cpu_s", cpu}});
}

void EventWriter::ready(const nlohmann::json& fields) {
  nlohmann::json event = fields;
  event["event"] = "ready";
  write(event);
}

void EventWriter::sample(const SampleEvent& sample) {
  nlohmann::json event = {{"event", "sample"},       {"first_step", sample.first_step},
                          {"steps", sample.steps},   {"wall_ns", sample.wall_ns},
                          {"cpu_ns", sample.cpu_ns}, {"data_wait_ns", sample.data_wait_ns}};
  if (sample.loss_known) event["loss"] = number(sample.loss);
  write(event);
}

void EventWriter::epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) {
  write({{"event", "epoch"},
         {"index", index},
         {"wall_s", std::chrono::duration<double>(wall).count()},
         {"loss", number(loss)}});
}

void EventWriter::accuracy(double accuracy, double loss, std::int64_t examples) {
  write({{"event", "accuracy"}, {"accuracy", number(accuracy)}, {"loss", number(loss)}, {"examples", examples}});
}

void EventWriter::accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples) {
  write({{"event", "accuracy"},
         {"steps", steps},
         {"accuracy", number(accuracy)},
         {"loss", number(loss)},
         {"examples", examples}});
}

void EventWriter::norms(std::int64_t steps, const std::vector<LayerNorm>& layers) {
  nlohmann::json list = nlohmann::json::array();
  for (const LayerNorm& each : layers)
    list.push_back({{"layer", each.layer}, {"norm", number(each.norm)}, {"moved", number(each.moved)}});
  write({{"event", "norms"}, {"steps", steps}, {"layers", std::move(list)}});
}

void EventWriter::device(const nlohmann::json& fields) {
  nlohmann::json event = fields;
  event["event"] = "device";
  write(event);
}

void EventWriter::memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes) {
  write({{"event", "memory"}, {"peak_rss_bytes", peak_rss_bytes}, {"device_bytes", device_bytes}});
}

void EventWriter::end(const std::string& status, const std::string& reason) {
  write({{"event", "end"}, {"status", status}, {"reason", reason}});
}

}  // namespace nocturne::protocol
