#include "tuner/executor/order_json.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "space/facts_json.hpp"
#include "space/json_field.hpp"
#include "space/names.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

// Each field is named once, in fields(), for Writer and for Reader.

template <typename T, typename Wanted>
concept Is = std::same_as<std::remove_const_t<T>, Wanted>;

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

// Words of enumerations that have none of their own.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWords{};
template <>
inline constexpr std::array<std::string_view, 5> kWords<OrderEnd> = {"finished", "suspended", "lost", "interrupted",
                                                                     "out_of_time"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<RunOrder::Learning> = {"none", "start", "longer"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<db::Side> = {"candidate", "baseline"};

template <typename Enum>
std::string word(Enum value) {
  if constexpr (kWords<Enum>.empty())
    return std::string(to_text(value));
  else
    return std::string(space::name_of(value, kWords<Enum>));
}

template <typename Enum>
  requires(!kWords<Enum>.empty())
void take_word(std::string_view text, std::optional<Enum>& out) {
  out = space::named<Enum>(text, kWords<Enum>);
}
void take_word(std::string_view text, std::optional<space::Outcome>& out) {
  out = space::outcome_from_text(text);
}
void take_word(std::string_view text, std::optional<space::Purpose>& out) {
  out = space::purpose_from_text(text);
}
void take_word(std::string_view text, std::optional<measure::PairMethod>& out) {
  out = measure::pair_method_from_text(text);
}
void take_word(std::string_view text, std::optional<measure::PartKind>& out) {
  out = measure::part_kind_from_text(text);
}

class Writer {
 public:
  template <typename T>
  void operator()(const char* key, const T& value) {
    document_[key] = written(value);
  }
  // JSON has no NaN: null stands for it, and only fields that may be NaN read it back.
  void or_nan(const char* key, double value) { document_[key] = value; }
  [[nodiscard]] json take() { return std::move(document_); }

  template <typename T>
  static json written(const T& value);

 private:
  json document_ = json::object();
};

/// Keeps the first error. What follows it is read for nothing.
class Reader {
 public:
  Reader(const json& document, std::string place, std::string& error)
      : document_(document), place_(std::move(place)), error_(error) {
    if (!document_.is_object()) complain(place_, "must be an object");
  }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (const json* found = find(key)) read(*found, place_ + "/" + key, value);
  }
  void or_nan(const char* key, double& value) {
    const json* found = find(key);
    if (found != nullptr && found->is_null())
      value = std::numeric_limits<double>::quiet_NaN();
    else if (found != nullptr)
      read(*found, place_ + "/" + key, value);
  }
  /// Null: it is missing, and that was said.
  const json* find(const std::string& key) {
    keys_.push_back(key);
    if (!error_.empty()) return nullptr;
    const auto found = document_.find(key);
    if (found == document_.end()) complain(place_ + "/" + key, "is missing");
    return found != document_.end() ? &*found : nullptr;
  }
  /// Nothing else may be there.
  void finish() {
    if (!error_.empty()) return;
    for (const auto& [key, value] : document_.items()) {
      // A key that is not known is an error, for an order of a newer version must not be carried out in part.
      if (std::ranges::find(keys_, key) == keys_.end()) complain(place_ + "/" + key, "is no key of this document");
    }
  }
  void require(bool holds, std::string_view key, std::string_view reason) {
    if (!holds) complain(fmt::format("{}/{}", place_, key), reason);
  }
  void complain(const std::string& place, std::string_view reason) {
    if (error_.empty()) error_ = fmt::format("{}: {}", place.empty() ? "/" : place, reason);
  }

 private:
  template <typename T>
  void read(const json& value, const std::string& place, T& out);
  template <typename Number>
  void read_whole(const json& value, const std::string& place, Number& out);
  template <typename T>
  void read_list(const json& value, const std::string& place, std::vector<T>& out);

  const json& document_;
  std::string place_;
  std::string& error_;
  std::vector<std::string> keys_;
};

template <typename F>
void fields(F& f, Is<space::Estimate> auto& e) {
  f("seconds", e.value);
  f("standard_error", e.standard_error);
  f("runs", e.runs);
}

template <typename F>
void fields(F& f, Is<search::Expectation> auto& e) {
  f("log_seconds", e.log_time);
  f("log_sd", e.log_sd);
}

template <typename F>
void fields(F& f, Is<space::Parts> auto& p) {
  f("import", p.import);
  f("data", p.data);
  f("compile", p.compile);
  f("first_step_excess", p.first_step_excess);
  f("epoch_overhead", p.epoch_overhead);
  f("steps_per_epoch", p.steps_per_epoch);
  f("steady_step", p.steady_step);
}

template <typename F>
void fields(F& f, Is<space::Trial> auto& t) {
  f("number", t.number);
  f("configuration", t.configuration);
  f("steps", t.fidelity.steps);
  f("outcome", t.outcome);
  f("reason", t.reason);
  f("estimate", t.estimate);
  f("parts", t.parts);
  f("peak_bytes", t.peak_bytes);
  f("device_bytes", t.device_bytes);
  f("device_memory_bytes", t.device_memory_bytes);
}

template <typename F>
void fields(F& f, Is<space::Sample> auto& s) {
  f("first_step", s.first_step);
  f("steps", s.steps);
  f("wall_ns", s.wall);
  f("cpu_ns", s.cpu);
  f("data_wait_ns", s.data_wait);
  f("loss", s.loss);
}

template <typename F>
void fields(F& f, Is<space::Phase> auto& p) {
  f("name", p.name);
  f("wall_ns", p.wall);
  f("cpu_ns", p.cpu);
  f("finished", p.finished);
}

template <typename F>
void fields(F& f, Is<space::Epoch> auto& e) {
  f("index", e.index);
  f("wall_ns", e.wall);
  f("loss", e.loss);
}

template <typename F>
void fields(F& f, Is<space::Norm> auto& n) {
  f("steps", n.steps);
  f("layer", n.layer);
  f("norm", n.norm);
  f("moved", n.moved);
}

template <typename F>
void fields(F& f, Is<space::Accuracy> auto& a) {
  f("accuracy", a.accuracy);
  f.or_nan("loss", a.loss);
  f("examples", a.examples);
}

template <typename F>
void fields(F& f, Is<space::CurvePoint> auto& p) {
  f("steps", p.steps);
  f("test", p.test);
}

template <typename F>
void fields(F& f, Is<space::Memory> auto& m) {
  f("peak_rss_bytes", m.peak_rss_bytes);
  f("device_bytes", m.device_bytes);
}

template <typename F>
void fields(F& f, Is<space::ReadingRange> auto& r) {
  f("min", r.min);
  f("mean", r.mean);
  f("max", r.max);
}

template <typename F>
void fields(F& f, Is<space::DeviceReport> auto& d) {
  f("name", d.name);
  f("readings", d.readings);
  f("energy_j", d.energy_j);
  f("sm_clock_mhz", d.sm_clock_mhz);
  f("memory_clock_mhz", d.memory_clock_mhz);
  f("temperature_c", d.temperature_c);
  f("power_w", d.power_w);
  f("throttled", d.throttled);
}

template <typename F>
void fields(F& f, Is<space::Load> auto& l) {
  f("loadavg_before", l.loadavg_before);
  f("loadavg_after", l.loadavg_after);
  f("cpu_pressure", l.cpu_pressure);
  f("memory_pressure", l.memory_pressure);
  f("io_pressure", l.io_pressure);
  f("steal", l.steal);
  f("other_cpu", l.other_cpu);
}

template <typename F>
void fields(F& f, Is<space::Run> auto& r) {
  f("id", r.id);
  f("purpose", r.purpose);
  f("outcome", r.outcome);
  f("reason", r.reason);
  f("exit_code", r.exit_code);
  f("signal", r.signal);
  f("folder", r.folder);
  f("command", r.command);
  f("artifact", r.artifact);
  f("started_unix_ns", r.started_unix_ns);
  f("wall_ns", r.wall);
  f("cpu_ns", r.cpu);
  f("seed", r.seed);
  f("ready", r.ready);
  f("phases", r.phases);
  f("samples", r.samples);
  f("epochs", r.epochs);
  f("curve", r.curve);
  f("norms", r.norms);
  f("accuracy", r.accuracy);
  f("memory", r.memory);
  f("device", r.device);
  f("load", r.load);
  f("log_tail", r.log_tail);
}

template <typename F>
void fields(F& f, Is<db::RunRecord> auto& r) {
  f("fingerprint", r.fingerprint);
  f("run", r.run);
}

template <typename F>
void fields(F& f, Is<db::BuildRecord> auto& b) {
  f("key", b.key);
  f("program", b.program);
  f("compiler", b.compiler);
  f("flags", b.flags);
  f("folder", b.folder);
  f("build_ns", b.build_ns);
  f("size_bytes", b.size_bytes);
  f("created_unix_ns", b.created_unix_ns);
  f("last_used_unix_ns", b.last_used_unix_ns);
}

template <typename F>
void fields(F& f, Is<db::PreflightRecord> auto& p) {
  f("stack", p.stack);
  f("configuration", p.configuration);
  f("outcome", p.outcome);
  f("reason", p.reason);
  f("too_large", p.too_large);
  f("prepare_ns", p.prepare);
  f("train_ns", p.train);
  f("log_tail", p.log_tail);
  f("preflight_unix_ns", p.preflight_unix_ns);
}

template <typename F>
void fields(F& f, Is<db::Slice> auto& s) {
  f("side", s.side);
  f("first_step", s.first_step);
  f("steps", s.steps);
  f("wall_ns", s.wall_ns);
}

template <typename F>
void fields(F& f, Is<db::PairRecord> auto& p) {
  f("index", p.index);
  f("first", p.first);
  f("candidate", p.candidate);
  f("baseline", p.baseline);
  f("slices", p.slices);
}

template <typename F>
void fields(F& f, Is<protocol::GateRequest> auto& g) {
  f("steps", g.steps);
  f("write", g.write);
}

template <typename F>
void fields(F& f, Is<protocol::CurveRequest> auto& c) {
  f("points_per_epoch", c.points_per_epoch);
  f("until", c.until);
}

template <typename F>
void fields(F& f, Is<RunOrder> auto& r) {
  f("purpose", r.purpose);
  f("steps", r.steps);
  f("epochs", r.epochs);
  f("accuracy", r.accuracy);
  f("seed", r.seed);
  f("deadline_ns", r.deadline);
  f("curve", r.curve);
  f("gate", r.gate);
  f("initial", r.initial);
  f("learning", r.learning);
}

// Orders.

template <typename F>
void fields(F& f, Is<DescribeOrder> auto& o) {
  f("parts", o.parts);
}

template <typename F>
void fields(F& f, Is<PreparationOrder> auto& o) {
  f("stack", o.stack);
  f("ladder", o.ladder);
  f("batch", o.batch);
  f("steps", o.steps);
}

template <typename F>
void fields(F& f, Is<TrialOrder> auto& o) {
  f("number", o.number);
  f("configuration", o.configuration);
  f("purpose", o.purpose);
  f("incumbent", o.incumbent);
  f("expected", o.expected);
  f("limit_ns", o.limit);
}

template <typename F>
void fields(F& f, Is<PairOrder::Side> auto& s) {
  f("configuration", s.configuration);
  f("slice_steps", s.slice_steps);
}

template <typename F>
void fields(F& f, Is<PairOrder> auto& o) {
  f("index", o.index);
  f("baseline", o.baseline);
  f("candidate", o.candidate);
  f("slices", o.slices);
  f("method", o.method);
  f("seed", o.seed);
}

template <typename F>
void fields(F& f, Is<GateOrder> auto& o) {
  f("configuration", o.configuration);
  f("reference", o.reference);
  f("run", o.run);
  f("against", o.against);
}

template <typename F>
void fields(F& f, Is<Order> auto& o) {
  f("document", o.document);
  f("process_sd", o.process_sd);
  f("cpus", o.cpus);
  f("runs_folder", o.runs_folder);
  f("prepare_within_ns", o.prepare_within);
}

// Answers.

template <typename F>
void fields(F& f, Is<measure::MachinePart> auto& p) {
  f("name", p.name);
  f("cpus", p.cpus);
  f("gpu", p.gpu);
  f("memory_bytes", p.memory_bytes);
}

template <typename F>
void fields(F& f, Is<MachineAnswer> auto& a) {
  f("facts", a.facts);
  f("cpus", a.cpus);
  f("memory_limit_bytes", a.memory_limit_bytes);
  f("shared_memory_bytes", a.shared_memory_bytes);
  f("parts", a.parts);
  f("why_no_parts", a.why_no_parts);
}

template <typename F>
void fields(F& f, Is<PreparationAnswer> auto& a) {
  f("end", a.end);
  f("record", a.record);
  f("worker", a.worker);
  f("builds", a.builds);
}

template <typename F>
void fields(F& f, Is<TrialAnswer> auto& a) {
  f("number", a.number);
  f("end", a.end);
  f("trial", a.trial);
  f("key", a.reservation.key);
  f("log_tail", a.log_tail);
  f("runs", a.runs);
  f("builds", a.builds);
}

template <typename F>
void fields(F& f, Is<PairAnswer> auto& a) {
  f("end", a.end);
  f("complete", a.complete);
  f("pair", a.pair);
  f("builds", a.builds);
}

template <typename F>
void fields(F& f, Is<GateAnswer::Verdict> auto& v) {
  f("agrees", v.agrees);
  f("sentence", v.sentence);
}

template <typename F>
void fields(F& f, Is<GateAnswer> auto& a) {
  f("end", a.end);
  f("run", a.run);
  f("verdict", a.verdict);
  f("why_none", a.why_none);
  f("builds", a.builds);
}

template <typename F>
void fields(F& f, Is<OrderAnswer> auto& a) {
  f("machine", a.machine);
  f("notes", a.notes);
}

template <typename T>
json Writer::written(const T& value) {
  if constexpr (std::same_as<T, nanoseconds>) {
    return value.count();
  } else if constexpr (std::is_enum_v<T>) {
    return word(value);
  } else if constexpr (std::same_as<T, space::Configuration> || std::same_as<T, space::Fingerprint>) {
    return value.to_json();
  } else if constexpr (std::same_as<T, space::Facts>) {
    return space::to_json(value);
  } else if constexpr (kIsOptional<T>) {
    return value ? written(*value) : json(nullptr);
  } else if constexpr (kIsList<T>) {
    json list = json::array();
    for (const auto& each : value) list.push_back(written(each));
    return list;
  } else if constexpr (requires(Writer& writer) { fields(writer, value); }) {
    Writer inner;
    fields(inner, value);
    return inner.take();
  } else {
    return value;  // numbers, texts, JSON
  }
}

template <typename Number>
void Reader::read_whole(const json& value, const std::string& place, Number& out) {
  const bool fits = value.is_number_unsigned() ? std::in_range<Number>(value.get<std::uint64_t>())
                                               : std::in_range<Number>(value.get<std::int64_t>());
  if (fits)
    out = value.get<Number>();
  else
    complain(place, "is too large or too small");
}

template <typename T>
void Reader::read_list(const json& value, const std::string& place, std::vector<T>& out) {
  out.clear();
  for (const json& each : value) {
    if (!error_.empty()) return;
    const std::string of_each = fmt::format("{}/{}", place, out.size());
    read(each, of_each, out.emplace_back());
  }
}

template <typename T>
void Reader::read(const json& value, const std::string& place, T& out) {
  if constexpr (std::same_as<T, json>) {
    out = value;
  } else if constexpr (kIsOptional<T>) {
    // What stood there as a default must not outlive a null.
    out.reset();
    if (!value.is_null()) read(value, place, out.emplace());
  } else if constexpr (kIsList<T>) {
    if (!value.is_array()) return complain(place, "must be a list");
    read_list(value, place, out);
  } else if constexpr (std::same_as<T, nanoseconds>) {
    std::int64_t count = 0;
    read(value, place, count);
    out = nanoseconds(count);
  } else if constexpr (std::is_enum_v<T>) {
    std::optional<T> known;
    if (value.is_string()) take_word(value.get_ref<const std::string&>(), known);
    if (!known) return complain(place, "is none of the words that are known here");
    out = *known;
  } else if constexpr (std::same_as<T, space::Configuration> || std::same_as<T, space::Fingerprint>) {
    auto read_back = T::from_json(value);
    if (!read_back) return complain(place, read_back.error());
    out = *std::move(read_back);
  } else if constexpr (std::same_as<T, space::Facts>) {
    if (!value.is_object()) return complain(place, "must be an object");
    out = space::facts_from_json(value);
  } else if constexpr (std::same_as<T, std::map<std::string, double>>) {
    if (!value.is_object()) return complain(place, "must be an object");
    for (const auto& [key, each] : value.items()) read(each, place + "/" + key, out[key]);
  } else if constexpr (requires(Reader& reader) { fields(reader, out); }) {
    Reader inner(value, place, error_);
    fields(inner, out);
    inner.finish();
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (!value.is_number_integer()) return complain(place, "must be a whole number");
    read_whole(value, place, out);
  } else {
    if (!space::is_of_type<T>(value)) {
      return complain(place, std::same_as<T, bool>     ? "must be true or false"
                             : std::same_as<T, double> ? "must be a number"
                                                       : "must be a text");
    }
    out = value.get<T>();
  }
}

// The alternatives of Task and of TaskAnswer, in their order: what an order is about is the key that it has.
constexpr std::array kTasks = {"describe", "prepare", "trial", "pair", "gate"};

template <typename Whole, typename Variant>
json write_document(const char* name, const Whole& whole, const Variant& task) {
  json document = Writer::written(whole);
  document["schema"] = name;
  document["version"] = kOrderVersion;
  document[kTasks.at(task.index())] = std::visit([](const auto& each) { return Writer::written(each); }, task);
  return document;
}

template <typename Variant, std::size_t... Index>
void emplace(Variant& variant, std::size_t index, std::index_sequence<Index...>) {
  ((Index == index ? void(variant.template emplace<Index>()) : void()), ...);
}

template <typename Whole, typename Variant>
void read_document(const char* name, const json& document, std::string& error, Whole& whole, Variant& task) {
  Reader reader(document, "", error);
  std::string schema;
  int version = 0;
  reader("schema", schema);
  reader.require(schema == name, "schema", fmt::format("must be \"{}\"", name));
  reader("version", version);
  reader.require(version == kOrderVersion, "version", fmt::format("must be {}", kOrderVersion));
  const auto index = static_cast<std::size_t>(
      std::ranges::find_if(kTasks, [&](const char* key) { return document.contains(key); }) - kTasks.begin());
  reader.require(
      index < kTasks.size(), "",
      fmt::format("one of {}, {}, {}, {}, {} is missing", kTasks[0], kTasks[1], kTasks[2], kTasks[3], kTasks[4]));
  if (!error.empty()) return;
  fields(reader, whole);
  emplace(task, index, std::make_index_sequence<std::variant_size_v<Variant>>());
  std::visit([&](auto& each) { reader(kTasks.at(index), each); }, task);
  reader.finish();
}

/// What no type says.
struct Ranges {
  Reader& reader;

  void at_least(std::int64_t least, std::int64_t value, std::string_view key) const {
    reader.require(value >= least, key, fmt::format("must be at least {}", least));
  }
  void operator()(const DescribeOrder&) const {}
  void operator()(const PreparationOrder& order) const {
    reader.require(!order.ladder.empty(), "prepare/ladder", "must have a configuration");
    at_least(0, order.steps, "prepare/steps");
  }
  void operator()(const TrialOrder& order) const { at_least(0, order.number, "trial/number"); }
  void operator()(const PairOrder& order) const {
    at_least(0, order.index, "pair/index");
    at_least(1, order.slices, "pair/slices");
    at_least(1, order.baseline.slice_steps, "pair/baseline/slice_steps");
    at_least(1, order.candidate.slice_steps, "pair/candidate/slice_steps");
  }
  void operator()(const GateOrder& order) const {
    at_least(0, order.run.steps, "gate/run/steps");
    at_least(0, order.run.epochs, "gate/run/epochs");
    if (order.run.curve) at_least(1, order.run.curve->points_per_epoch, "gate/run/curve/points_per_epoch");
    if (!order.run.gate) return;
    at_least(1, order.run.gate->steps, "gate/run/gate/steps");
    const std::filesystem::path write = order.run.gate->write.value_or("name");
    // The order comes from elsewhere: the file has to stay in the folder of its run.
    reader.require(write.filename() == write && write != "." && write != ".." && !write.empty(), "gate/run/gate/write",
                   "must be the name of a file, without a folder");
  }
};

}  // namespace

json to_json(const Order& order) {
  return write_document("order", order, order.task);
}

std::expected<Order, std::string> order_from_json(const json& document) {
  std::string error;
  Order order;
  read_document("order", document, error, order, order.task);
  if (error.empty()) {
    Reader whole(document, "", error);
    whole.require(order.document.is_object(), "document", "must be the document of a campaign");
    whole.require(order.process_sd > 0 && order.process_sd < 10, "process_sd", "must be above 0 and below 10");
    whole.require(std::ranges::all_of(order.cpus, [](int cpu) { return cpu >= 0; }), "cpus", "must be at least 0");
    whole.require(order.runs_folder.empty() || std::filesystem::path(order.runs_folder).is_absolute(), "runs_folder",
                  "must be an absolute path");
    whole.require(!order.prepare_within || order.prepare_within->count() >= 0, "prepare_within_ns",
                  "must be at least 0");
    std::visit(Ranges{whole}, order.task);
  }
  if (!error.empty()) return std::unexpected(std::move(error));
  return order;
}

std::expected<Order, std::string> order_from_text(std::string_view text) {
  if (text.size() > kLongestOrderBytes)
    return std::unexpected(fmt::format("/: more than {} MiB", kLongestOrderBytes >> 20U));
  if (space::is_nested_too_deep(text)) return std::unexpected("/: brackets are nested too deep");
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::unexpected("/: this is not JSON");
  return order_from_json(document);
}

json to_json(const OrderAnswer& answer) {
  return write_document("answer", answer, answer.result);
}

std::expected<OrderAnswer, std::string> answer_from_json(const json& document) {
  std::string error;
  OrderAnswer answer;
  read_document("answer", document, error, answer, answer.result);
  if (!error.empty()) return std::unexpected(std::move(error));
  // The reservation repeats the trial; written twice, the two could differ.
  if (auto* trial = std::get_if<TrialAnswer>(&answer.result)) {
    trial->reservation.number = trial->trial.number;
    trial->reservation.configuration = trial->trial.configuration;
    trial->reservation.fidelity = trial->trial.fidelity;
  }
  return answer;
}

json run_to_json(const space::Run& run) {
  return Writer::written(run);
}

}  // namespace nocturne::tuner
