#include "measure/run/event_reader.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "measure/protocol/request.hpp"
#include "space/nesting.hpp"

namespace nocturne::measure {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

constexpr std::size_t kLongestLine = 1 << 20;

// Carries a sentence from a field to consume(), where it becomes data.
struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const json& field(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end()) throw Rejected(fmt::format("'{}' is missing", key));
  return *found;
}

std::string text(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_string()) throw Rejected(fmt::format("'{}' is not a string", key));
  return value.get<std::string>();
}

std::int64_t integer(const json& event, const char* key, std::int64_t least) {
  const json& value = field(event, key);
  if (!value.is_number_integer()) throw Rejected(fmt::format("'{}' is not an integer", key));
  const auto number = value.get<std::int64_t>();
  if (number < least) throw Rejected(fmt::format("'{}' is {}, below {}", key, value.dump(), least));
  return number;
}

double real(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_number()) throw Rejected(fmt::format("'{}' is not a number", key));
  return value.get<double>();
}

nanoseconds seconds(const json& event, const char* key) {
  const double value = real(event, key);
  // A year bounds the conversion to nanoseconds as well as the nonsense.
  if (!(value >= 0 && value < 3.2e7)) throw Rejected(fmt::format("'{}' is {}, no possible duration", key, value));
  return nanoseconds(std::llround(value * 1e9));
}

// A number that is not finite travels as a word (event_writer.cpp); a worker need not know every one.
std::optional<double> number_or_word(const json& event, const char* key, bool& finite) {
  finite = true;
  const auto found = event.find(key);
  if (found == event.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  finite = false;
  if (*found == "nan" || *found == "inf" || *found == "-inf") return std::nullopt;
  throw Rejected(fmt::format("'{}' is neither a number nor \"nan\", \"inf\", \"-inf\"", key));
}

std::optional<double> loss(const json& event, bool& finite) {
  return number_or_word(event, "loss", finite);
}

std::optional<double> real_or_nothing(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional(real(object, key));
}

space::ReadingRange reading_range(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end() || found->is_null()) return {};
  if (!found->is_object()) throw Rejected(fmt::format("'{}' is no object with min, mean or max", key));
  return {.min = real_or_nothing(*found, "min"),
          .mean = real_or_nothing(*found, "mean"),
          .max = real_or_nothing(*found, "max")};
}

}  // namespace

std::string Events::open_phase() const {
  for (const auto& phase : phases | std::views::reverse) {
    if (!phase.finished) return phase.name;
  }
  return {};
}

std::int64_t Events::steps() const {
  std::int64_t sum = 0;
  for (const auto& sample : samples) sum += sample.steps;
  return sum;
}

EventReader::EventReader(std::filesystem::path path, std::int64_t cap_bytes)
    : path_(std::move(path)), cap_bytes_(cap_bytes) {}

EventReader::EventReader(EventReader&& other) noexcept
    : path_(std::move(other.path_)),
      cap_bytes_(other.cap_bytes_),
      file_(std::exchange(other.file_, -1)),
      line_(other.line_),
      bytes_(other.bytes_),
      phase_seen_(std::move(other.phase_seen_)),
      rest_(std::move(other.rest_)),
      events_(std::move(other.events_)) {}

EventReader::~EventReader() {
  if (file_ >= 0) ::close(file_);
}

bool EventReader::read() {
  if (file_ < 0) file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file_ < 0) return false;
  const std::int64_t lines_before = line_;
  std::array<char, 65536> buffer;
  while (!events_.overflow) {
    const ssize_t count = ::read(file_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes_ += count;
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      consume(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
    if (bytes_ > cap_bytes_ || rest_.size() > kLongestLine) {
      ++line_;
      fail(bytes_ > cap_bytes_ ? fmt::format("more than {} bytes of events", cap_bytes_)
                               : fmt::format("a line longer than {} bytes", kLongestLine));
      events_.overflow = true;
      rest_.clear();
    }
  }
  events_.torn = !rest_.empty();
  return line_ > lines_before;
}

void EventReader::fail(std::string what) {
  if (!events_.error) events_.error = EventError{line_, std::move(what)};
}

void EventReader::consume(std::string_view line) {
  ++line_;
  if (space::is_nested_too_deep(line)) {
    return fail(fmt::format("brackets are nested more than {} deep", space::kDeepestNesting));
  }
  const json event = json::parse(line, nullptr, false);
  if (!event.is_object() || !event.contains("event") || !event["event"].is_string()) {
    const std::string_view start = line.substr(0, 60);
    return fail(event.is_discarded() ? fmt::format("not JSON: {}", start) : fmt::format("not an event: {}", start));
  }
  try {
    accept(event);
  } catch (const Rejected& rejected) {
    fail(fmt::format("{}: {}", event["event"].get<std::string>(), rejected.what()));
  }
}

void EventReader::accept(const json& event) {
  const std::string name = event["event"].get<std::string>();
  if (events_.end) throw Rejected("comes after 'end'");
  if (name == "hello") {
    if (events_.worker) throw Rejected("comes twice");
    if (line_ != 1) throw Rejected("is not the first event");
    events_.worker = text(event, "worker");
    const auto version = integer(event, "protocol", 0);
    if (version != protocol::kVersion) {
      throw Rejected(fmt::format("protocol {}, this tuner speaks {}", version, protocol::kVersion));
    }
    return;
  }
  if (!events_.worker) fail(fmt::format("{}: comes before 'hello'", name));
  if (name == "phase_begin") {
    begin_phase(event);
  } else if (name == "phase_end") {
    end_phase(event);
  } else if (name == "ready") {
    if (!events_.ready.is_null()) throw Rejected("comes twice");
    events_.ready = event;
    events_.ready.erase("event");
  } else if (name == "sample") {
    accept_sample(event);
  } else if (name == "epoch") {
    bool finite = true;
    events_.epochs.push_back({integer(event, "index", 0), seconds(event, "wall_s"), loss(event, finite)});
  } else if (name == "accuracy") {
    bool finite = true;
    const space::Accuracy accuracy{real(event, "accuracy"), loss(event, finite).value_or(0),
                                   integer(event, "examples", 1)};
    if (!(accuracy.accuracy >= 0 && accuracy.accuracy <= 1)) throw Rejected("'accuracy' is not between 0 and 1");
    events_.accuracy = accuracy;
  } else if (name == "norms") {
    accept_norms(event);
  } else if (name == "device") {
    accept_device(event);
  } else if (name == "memory") {
    events_.memory = space::Memory{integer(event, "peak_rss_bytes", 0), integer(event, "device_bytes", 0)};
  } else if (name == "end") {
    EndEvent end{text(event, "status"), event.contains("reason") ? text(event, "reason") : std::string()};
    if (end.status != "ok" && end.status != "unsupported" && end.status != "diverged" &&
        end.status != "out_of_memory" && end.status != "failed") {
      throw Rejected(fmt::format("status '{}' is unknown", end.status));
    }
    events_.end = std::move(end);
  }
}

void EventReader::begin_phase(const json& event) {
  std::string name = text(event, "name");
  for (const auto& phase : events_.phases) {
    if (phase.name == name && !phase.finished) throw Rejected(fmt::format("'{}' has begun already", name));
  }
  events_.phases.push_back({.name = std::move(name), .wall = {}, .cpu = {}, .finished = false});
  phase_seen_.push_back(std::chrono::steady_clock::now());
}

void EventReader::end_phase(const json& event) {
  const std::string name = text(event, "name");
  for (auto& phase : events_.phases) {
    if (phase.name != name || phase.finished) continue;
    phase.wall = seconds(event, "wall_s");
    phase.cpu = seconds(event, "cpu_s");
    phase.finished = true;
    return;
  }
  throw Rejected(fmt::format("'{}' has not begun", name));
}

void EventReader::accept_sample(const json& event) {
  space::Sample sample;
  sample.first_step = integer(event, "first_step", 0);
  sample.steps = integer(event, "steps", 1);
  sample.wall = nanoseconds(integer(event, "wall_ns", 1));
  sample.cpu = nanoseconds(integer(event, "cpu_ns", 0));
  sample.data_wait = nanoseconds(integer(event, "data_wait_ns", 0));
  if (!events_.samples.empty()) {
    const auto& last = events_.samples.back();
    if (sample.first_step < last.first_step + last.steps) {
      throw Rejected(
          fmt::format("step {} comes again, after step {}", sample.first_step, last.first_step + last.steps - 1));
    }
  }
  bool finite = true;
  sample.loss = loss(event, finite);
  if (!finite && !events_.not_finite_at) events_.not_finite_at = sample.first_step + sample.steps - 1;
  events_.samples.push_back(sample);
}

void EventReader::accept_norms(const json& event) {
  const std::int64_t steps = integer(event, "steps", 0);
  if (!events_.norms.empty() && steps <= events_.norms.back().steps) {
    throw Rejected(fmt::format("after {} steps, those after {} came already", steps, events_.norms.back().steps));
  }
  const json& layers = field(event, "layers");
  if (!layers.is_array() || layers.empty()) throw Rejected("'layers' is no list of layers");
  std::vector<space::Norm> norms;
  for (const json& each : layers) {
    if (!each.is_object()) throw Rejected("'layers' holds something that is no layer");
    bool finite = true;
    norms.push_back({.steps = steps,
                     .layer = text(each, "layer"),
                     .norm = number_or_word(each, "norm", finite),
                     .moved = number_or_word(each, "moved", finite)});
  }
  events_.norms.insert(events_.norms.end(), norms.begin(), norms.end());
}

void EventReader::accept_device(const json& event) {
  if (events_.device) throw Rejected("comes twice");
  space::DeviceReport report{.name = text(event, "name"), .readings = integer(event, "readings", 1)};
  report.energy_j = real_or_nothing(event, "energy_j");
  report.sm_clock_mhz = reading_range(event, "sm_clock_mhz");
  report.memory_clock_mhz = reading_range(event, "memory_clock_mhz");
  report.temperature_c = reading_range(event, "temperature_c");
  report.power_w = reading_range(event, "power_w");
  if (const auto throttled = event.find("throttled"); throttled != event.end()) {
    if (!throttled->is_object()) throw Rejected("'throttled' is no object of reasons");
    for (const auto& [reason, share] : throttled->items()) {
      const double number = real(*throttled, reason.c_str());
      if (!(number >= 0 && number <= 1)) throw Rejected(fmt::format("'{}' is {}, no share", reason, number));
      report.throttled[reason] = number;
    }
  }
  events_.device = std::move(report);
}

void EventReader::close_phases(std::chrono::steady_clock::time_point now) {
  for (std::size_t index = 0; index < events_.phases.size(); ++index) {
    if (!events_.phases[index].finished) events_.phases[index].wall = now - phase_seen_[index];
  }
}

}  // namespace nocturne::measure
