#include "measure/run/event_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <stdexcept>

#include "measure/protocol/request.hpp"
#include "space/json_field.hpp"

namespace nocturne::measure {
namespace {

// Fields of one event, read with doubt. What is wrong is thrown as RejectedEvent.

/// Carries a sentence from a field to EventReader::consume(), where it becomes data.
struct RejectedEvent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is longer is nonsense, and sums of it would not fit.
constexpr std::chrono::nanoseconds kYear = std::chrono::hours(24 * 365);

/// More than any address space.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

using nlohmann::json;
using std::chrono::nanoseconds;

const json& field(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end()) throw RejectedEvent(fmt::format("'{}' is missing", key));
  return *found;
}

std::string text(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_string()) throw RejectedEvent(fmt::format("'{}' is not a string", key));
  return value.get<std::string>();
}

std::int64_t integer(const json& event, const char* key, std::int64_t least,
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const json& value = field(event, key);
  if (!value.is_number_integer()) throw RejectedEvent(fmt::format("'{}' is not an integer", key));
  const auto number = value.get<std::int64_t>();
  if (number < least) throw RejectedEvent(fmt::format("'{}' is {}, below {}", key, value.dump(), least));
  if (number > most) throw RejectedEvent(fmt::format("'{}' is {}, above {}", key, number, most));
  return number;
}

double real(const json& event, const char* key) {
  const json& value = field(event, key);
  if (!value.is_number()) throw RejectedEvent(fmt::format("'{}' is not a number", key));
  return value.get<double>();
}

/// Less than a year.
nanoseconds seconds(const json& event, const char* key) {
  const double value = real(event, key);
  // Bounds the conversion to nanoseconds as well as the nonsense.
  if (!(value >= 0 && value < std::chrono::duration<double>(kYear).count()))
    throw RejectedEvent(fmt::format("'{}' is {}, no possible duration", key, value));
  return nanoseconds(std::llround(value * 1e9));
}

// A number that is not finite travels as a word (event_writer.cpp); a worker need not know every one.
/// Nothing where it is absent, null, or a word for what is not finite ("nan", "inf", "-inf"); `finite` tells the last.
std::optional<double> number_or_word(const json& event, const char* key, bool& finite) {
  finite = true;
  const auto found = event.find(key);
  if (found == event.end() || found->is_null()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  finite = false;
  if (*found == "nan" || *found == "inf" || *found == "-inf") return std::nullopt;
  throw RejectedEvent(fmt::format("'{}' is neither a number nor \"nan\", \"inf\", \"-inf\"", key));
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
  if (!found->is_object()) throw RejectedEvent(fmt::format("'{}' is no object with min, mean or max", key));
  return {.min = real_or_nothing(*found, "min"),
          .mean = real_or_nothing(*found, "mean"),
          .max = real_or_nothing(*found, "max")};
}

constexpr std::size_t kLongestLine = 1 << 20;

// Nobody has so many who means it; each is a row of the database.
constexpr std::size_t kMostPhases = 1 << 16;

// A year of one process on so many fits.
constexpr int kMostProcessors = 256;

}  // namespace

std::string Events::open_phase() const {
  for (const auto& phase : phases | std::views::reverse)
    if (!phase.finished) return phase.name;
  return {};
}

std::int64_t count_steps(std::span<const space::Sample> samples) {
  std::int64_t sum = 0;
  for (const auto& sample : samples) sum += sample.steps;
  return sum;
}

std::int64_t Events::steps() const {
  return count_steps(samples);
}

bool EventReader::read(const RunFolder& folder) {
  if (!file_ && !events_.overflow) {
    auto opened = folder.read(name_);
    // A worker makes the file when it begins to speak: until then its absence is no error.
    if (!opened && folder.absent(name_)) return false;
    if (!opened) {
      ++line_;
      fail(std::move(opened.error()));
      events_.overflow = true;
      return false;
    }
    file_ = std::move(*opened);
  }
  const std::int64_t lines_before = line_;
  while (!events_.overflow) {
    const std::string piece = file_.read_at(bytes_, 64 << 10);
    if (piece.empty()) break;
    take(piece);
  }
  // A line without its end is still being written, or was cut off when the worker died: only the end of the run tells
  // which.
  events_.torn = !rest_.empty();
  return line_ > lines_before;
}

void EventReader::take(std::string_view piece) {
  bytes_ += static_cast<std::int64_t>(piece.size());
  rest_.append(piece);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
    consume(std::string_view(rest_).substr(begin, end - begin));
  rest_.erase(0, begin);
  // What is read is a worker's own text: without limits a broken one would fill the tuner's memory.
  if (bytes_ <= cap_bytes_ && rest_.size() <= kLongestLine) return;
  ++line_;
  fail(bytes_ > cap_bytes_ ? fmt::format("more than {} bytes of events", cap_bytes_)
                           : fmt::format("a line longer than {} bytes", kLongestLine));
  events_.overflow = true;
  rest_.clear();
}

void EventReader::fail(std::string what) {
  // Only the first counts: what follows a wrong line is mostly wrong because of it.
  if (!events_.error) events_.error = EventError{line_, std::move(what)};
}

void EventReader::consume(std::string_view line) {
  ++line_;
  if (space::is_nested_too_deep(line))
    return fail(fmt::format("brackets are nested more than {} deep", space::kDeepestNesting));
  const json event = json::parse(line, nullptr, false);
  if (!event.is_object() || !event.contains("event") || !event["event"].is_string()) {
    const std::string_view start = line.substr(0, 60);
    return fail(event.is_discarded() ? fmt::format("not JSON: {}", start) : fmt::format("not an event: {}", start));
  }
  try {
    accept(event);
  } catch (const RejectedEvent& rejected) {
    fail(fmt::format("{}: {}", event["event"].get<std::string>(), rejected.what()));
  }
}

void EventReader::accept(const json& event) {
  const std::string name = event["event"].get<std::string>();
  if (events_.end) throw RejectedEvent("comes after 'end'");
  if (name == "hello") {
    if (events_.worker) throw RejectedEvent("comes twice");
    if (line_ != 1) throw RejectedEvent("is not the first event");
    events_.worker = text(event, "worker");
    const auto version = integer(event, "protocol", 0);
    if (version != protocol::kVersion)
      throw RejectedEvent(fmt::format("protocol {}, this tuner speaks {}", version, protocol::kVersion));
    return;
  }
  // Noted and read all the same: what such a worker says helps to find out why.
  if (!events_.worker) fail(fmt::format("{}: comes before 'hello'", name));
  if (name == "phase_begin") {
    begin_phase(event);
  } else if (name == "phase_end") {
    end_phase(event);
  } else if (name == "ready") {
    if (!events_.ready.is_null()) throw RejectedEvent("comes twice");
    events_.ready = event;
    events_.ready.erase("event");
  } else if (name == "sample") {
    accept_sample(event);
  } else if (name == "epoch") {
    accept_epoch(event);
  } else if (name == "accuracy") {
    accept_accuracy(event);
  } else if (name == "norms") {
    accept_norms(event);
  } else if (name == "device") {
    accept_device(event);
  } else if (name == "memory") {
    events_.memory =
        space::Memory{integer(event, "peak_rss_bytes", 0, kMostBytes), integer(event, "device_bytes", 0, kMostBytes)};
  } else if (name == "end") {
    EndEvent end{text(event, "status"), event.contains("reason") ? text(event, "reason") : std::string()};
    if (end.status != "ok" && end.status != "unsupported" && end.status != "diverged" &&
        end.status != "out_of_memory" && end.status != "failed") {
      throw RejectedEvent(fmt::format("status '{}' is unknown", end.status));
    }
    events_.end = std::move(end);
  }
}

// Whatever is said again and again adds up to a possible time, too.
nanoseconds EventReader::bounded(const char* key, nanoseconds time) {
  const nanoseconds most = std::string_view(key).starts_with("cpu") ? kYear * kMostProcessors : kYear;
  std::int64_t& sum = sums_[key];
  if (time > most || time.count() > most.count() - sum) {
    throw RejectedEvent(fmt::format("'{}' is {} s, with those before it no possible duration", key,
                                    std::chrono::duration<double>(time).count()));
  }
  sum += time.count();
  return time;
}

void EventReader::begin_phase(const json& event) {
  std::string name = text(event, "name");
  if (events_.phases.size() >= kMostPhases) throw RejectedEvent(fmt::format("more than {} phases", kMostPhases));
  if (!open_phases_.emplace(name, events_.phases.size()).second)
    throw RejectedEvent(fmt::format("'{}' has begun already", name));
  events_.phases.push_back({.name = std::move(name), .wall = {}, .cpu = {}, .finished = false});
  events_.lines.phases.push_back(line_);
  // Our clock, not the worker's: it serves only if the phase never ends.
  phase_seen_.push_back(std::chrono::steady_clock::now());
}

void EventReader::end_phase(const json& event) {
  const std::string name = text(event, "name");
  const auto open = open_phases_.find(name);
  if (open == open_phases_.end()) throw RejectedEvent(fmt::format("'{}' has not begun", name));
  space::Phase& phase = events_.phases[open->second];
  const nanoseconds wall = bounded("wall_s", seconds(event, "wall_s"));
  phase.cpu = bounded("cpu_s", seconds(event, "cpu_s"));
  phase.wall = wall;
  phase.finished = true;
  events_.lines.phases[open->second] = line_;
  events_.first_step_done = events_.first_step_done || name == "first_step";
  open_phases_.erase(open);
}

void EventReader::accept_epoch(const json& event) {
  bool finite = true;
  const nanoseconds wall = seconds(event, "wall_s");
  space::Epoch epoch{integer(event, "index", 0), wall, loss(event, finite)};
  bounded("wall_s of epochs", wall);
  events_.epochs.push_back(epoch);
  events_.lines.epochs.push_back(line_);
}

void EventReader::accept_sample(const json& event) {
  space::Sample sample;
  sample.first_step = integer(event, "first_step", 0);
  sample.steps = integer(event, "steps", 1);
  // The last step of it is a number too; the next sample begins behind it.
  if (std::int64_t next = 0; __builtin_add_overflow(sample.first_step, sample.steps, &next)) {
    throw RejectedEvent(
        fmt::format("'first_step' is {} and 'steps' {}: there is no such step", sample.first_step, sample.steps));
  }
  if (!events_.samples.empty()) {
    const auto& last = events_.samples.back();
    // Gaps are allowed (steps that were not timed), overlaps are not: a step would count twice.
    if (sample.first_step < last.first_step + last.steps) {
      throw RejectedEvent(
          fmt::format("step {} comes again, after step {}", sample.first_step, last.first_step + last.steps - 1));
    }
  }
  bool finite = true;
  sample.loss = loss(event, finite);
  sample.wall = bounded("wall_ns", nanoseconds(integer(event, "wall_ns", 1)));
  sample.cpu = bounded("cpu_ns", nanoseconds(integer(event, "cpu_ns", 0)));
  sample.data_wait = bounded("data_wait_ns", nanoseconds(integer(event, "data_wait_ns", 0)));
  if (!finite && !events_.not_finite_at) events_.not_finite_at = sample.first_step + sample.steps - 1;
  events_.samples.push_back(sample);
  events_.lines.samples.push_back(line_);
  add_step_parts(event);
}

void EventReader::add_step_parts(const json& event) {
  bool told = false;
  for (const char* key : {"forward_ns", "backward_ns", "optimizer_ns"}) {
    if (!event.contains(key)) continue;
    bounded(key, nanoseconds(integer(event, key, 0)));
    told = true;
  }
  if (!told || !events_.ready.is_object()) return;
  json share = json::object();
  double rest = 1;
  for (const char* part : {"data", "forward", "backward", "optimizer"}) {
    const std::string key = std::string(part) + (part == std::string_view("data") ? "_wait_ns" : "_ns");
    const auto sum = sums_.find(key);
    if (sum == sums_.end() || sum->second == 0) continue;  // 0: nobody has seen any of it
    const double whole = static_cast<double>(sums_["wall_ns"]);
    share[part] = std::min(1.0, static_cast<double>(sum->second) / whole);
    rest -= share[part].get<double>();
  }
  share["other"] = std::max(0.0, rest);
  events_.ready["share"] = std::move(share);
}

// With steps it is a point of a learning curve, without what was asked for at the end.
void EventReader::accept_accuracy(const json& event) {
  bool finite = true;
  const space::Accuracy accuracy{real(event, "accuracy"), loss(event, finite).value_or(0),
                                 integer(event, "examples", 1)};
  if (!(accuracy.accuracy >= 0 && accuracy.accuracy <= 1)) throw RejectedEvent("'accuracy' is not between 0 and 1");
  if (!event.contains("steps")) {
    events_.accuracy = accuracy;
    return;
  }
  const std::int64_t steps = integer(event, "steps", 1);
  if (!events_.curve.empty() && steps <= events_.curve.back().steps)
    throw RejectedEvent(fmt::format("after {} steps, that after {} came already", steps, events_.curve.back().steps));
  events_.curve.push_back({.steps = steps, .test = accuracy});
}

void EventReader::accept_norms(const json& event) {
  const std::int64_t steps = integer(event, "steps", 0);
  if (!events_.norms.empty() && steps <= events_.norms.back().steps)
    throw RejectedEvent(fmt::format("after {} steps, those after {} came already", steps, events_.norms.back().steps));
  const json& layers = field(event, "layers");
  if (!layers.is_array() || layers.empty()) throw RejectedEvent("'layers' is no list of layers");
  std::vector<space::Norm> norms;
  for (const json& each : layers) {
    if (!each.is_object()) throw RejectedEvent("'layers' holds something that is no layer");
    bool finite = true;
    norms.push_back({.steps = steps,
                     .layer = text(each, "layer"),
                     .norm = number_or_word(each, "norm", finite),
                     .moved = number_or_word(each, "moved", finite)});
  }
  events_.norms.insert(events_.norms.end(), norms.begin(), norms.end());
}

void EventReader::accept_device(const json& event) {
  if (events_.device) throw RejectedEvent("comes twice");
  space::DeviceReport report{.name = text(event, "name"), .readings = integer(event, "readings", 1)};
  report.energy_j = real_or_nothing(event, "energy_j");
  report.sm_clock_mhz = reading_range(event, "sm_clock_mhz");
  report.memory_clock_mhz = reading_range(event, "memory_clock_mhz");
  report.temperature_c = reading_range(event, "temperature_c");
  report.power_w = reading_range(event, "power_w");
  if (const auto throttled = event.find("throttled"); throttled != event.end()) {
    if (!throttled->is_object()) throw RejectedEvent("'throttled' is no object of reasons");
    for (const auto& [reason, share] : throttled->items()) {
      const double number = real(*throttled, reason.c_str());
      if (!(number >= 0 && number <= 1)) throw RejectedEvent(fmt::format("'{}' is {}, no share", reason, number));
      report.throttled[reason] = number;
    }
  }
  events_.device = std::move(report);
}

void EventReader::close_phases(std::chrono::steady_clock::time_point now) {
  for (std::size_t index = 0; index < events_.phases.size(); ++index)
    if (!events_.phases[index].finished) events_.phases[index].wall = now - phase_seen_[index];
}

}  // namespace nocturne::measure
