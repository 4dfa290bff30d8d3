#include "tuner/executor/order_json.hpp"

#include <concepts>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

// The members of each structure: a new one does not compile here until somebody thinks of it.

template <typename T, typename Wanted>
concept MembersOf = std::same_as<std::remove_const_t<T>, Wanted>;

#define NOCTURNE_MEMBERS(Type, ...)        \
  auto members(MembersOf<Type> auto& of) { \
    auto& [__VA_ARGS__] = of;              \
    return std::tie(__VA_ARGS__);          \
  }
NOCTURNE_MEMBERS(space::Estimate, a, b, c)
NOCTURNE_MEMBERS(space::Parts, a, b, c, d, e, f, g)
NOCTURNE_MEMBERS(space::Fidelity, a)
NOCTURNE_MEMBERS(space::Trial, a, b, c, d, e, f, g, h, i, j)
NOCTURNE_MEMBERS(space::Sample, a, b, c, d, e, f)
NOCTURNE_MEMBERS(space::Phase, a, b, c, d)
NOCTURNE_MEMBERS(space::Epoch, a, b, c)
NOCTURNE_MEMBERS(space::Norm, a, b, c, d)
NOCTURNE_MEMBERS(space::Accuracy, a, b, c)
NOCTURNE_MEMBERS(space::CurvePoint, a, b)
NOCTURNE_MEMBERS(space::Memory, a, b)
NOCTURNE_MEMBERS(space::ReadingRange, a, b, c)
NOCTURNE_MEMBERS(space::DeviceReport, a, b, c, d, e, f, g, h)
NOCTURNE_MEMBERS(space::Load, a, b, c, d, e, f, g)
NOCTURNE_MEMBERS(space::Run, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
NOCTURNE_MEMBERS(db::RunRecord, a, b)
NOCTURNE_MEMBERS(db::BuildRecord, a, b, c, d, e, f, g, h, i)
NOCTURNE_MEMBERS(db::PreflightRecord, a, b, c, d, e, f, g, h, i)
NOCTURNE_MEMBERS(db::Slice, a, b, c, d)
NOCTURNE_MEMBERS(db::PairRecord, a, b, c, d, e, f, g)
NOCTURNE_MEMBERS(db::TrialReservation, a, b, c, d, e)
NOCTURNE_MEMBERS(protocol::GateRequest, a, b)
NOCTURNE_MEMBERS(protocol::CurveRequest, a, b)
NOCTURNE_MEMBERS(tuner::RunOrder, a, b, c, d, e, f, g, h, i, j)
NOCTURNE_MEMBERS(tuner::PreparationOrder, a, b, c, d)
NOCTURNE_MEMBERS(search::Expectation, a, b)
NOCTURNE_MEMBERS(tuner::TrialOrder, a, b, c, d, e, f)
NOCTURNE_MEMBERS(tuner::PairOrder::Side, a, b)
NOCTURNE_MEMBERS(tuner::PairOrder, a, b, c, d, e, f)
NOCTURNE_MEMBERS(tuner::GateOrder, a, b, c, d)
NOCTURNE_MEMBERS(tuner::Order, a, b, c, d, e, f)
NOCTURNE_MEMBERS(tuner::DescribeOrder, a)
NOCTURNE_MEMBERS(measure::MachinePart, a, b, c, d)
NOCTURNE_MEMBERS(tuner::MachineAnswer, a, b, c, d, e, f)
NOCTURNE_MEMBERS(tuner::PreparationAnswer, a, b, c, d)
NOCTURNE_MEMBERS(tuner::TrialAnswer, a, b, c, d, e, f, g, h, i, j, k, l)
NOCTURNE_MEMBERS(tuner::PairAnswer, a, b, c, d)
NOCTURNE_MEMBERS(tuner::GateAnswer::Verdict, a, b)
NOCTURNE_MEMBERS(tuner::GateAnswer, a, b, c, d, e)
NOCTURNE_MEMBERS(tuner::OrderAnswer, a, b, c)
#undef NOCTURNE_MEMBERS

template <typename T>
bool same(const T& a, const T& b) {
  if constexpr (requires { a.has_value(); }) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else if constexpr (requires { std::variant_size<T>::value; }) {
    return a.index() == b.index() &&
           std::visit([&](const auto& each) { return same(each, std::get<std::decay_t<decltype(each)>>(b)); }, a);
  } else if constexpr (requires { members(a); }) {
    return std::apply(
        [&](const auto&... ours) {
          return std::apply([&](const auto&... theirs) { return (same(ours, theirs) && ...); }, members(b));
        },
        members(a));
  } else if constexpr (requires { typename T::value_type; } && !std::same_as<T, std::string> &&
                       !std::same_as<T, json> && !std::same_as<T, std::map<std::string, double>> &&
                       !std::same_as<T, space::Facts>) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
  } else {
    return a == b;
  }
}

/// Fills whatever it is given with something.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::uint64_t below(std::uint64_t end) { return random_() % end; }

  void fill(std::string& text) { text = kTexts.at(below(kTexts.size())) + std::to_string(below(1000)); }
  void fill(bool& value) { value = below(2) == 1; }
  void fill(double& value) { value = std::ldexp(static_cast<double>(random_()), -static_cast<int>(below(80))); }
  void fill(std::chrono::nanoseconds& value) { value = std::chrono::nanoseconds(1 + below(1ULL << 62U)); }
  void fill(json& value) { value = {{kTexts.at(below(kTexts.size())), json::array({below(9), nullptr, "x", 0.1})}}; }
  void fill(std::map<std::string, double>& value) { fill(value["power \"cap\""]); }
  void fill(space::Configuration& value) {
    value.set("batch", static_cast<std::int64_t>(below(1 << 20)));
    value.set("precision", kTexts.at(below(kTexts.size())));
    if (below(2) == 1) value.set("rate", 0.1 * static_cast<double>(below(100)));
    value.set("xla", below(2) == 1);
  }
  void fill(space::Fingerprint& value) {
    value.set({.name = "cpu.model", .value = kTexts.at(below(kTexts.size())), .match = space::Match::Verify});
  }
  void fill(space::Facts& value) { value.set("machine.cores", static_cast<std::int64_t>(below(99))); }
  void fill(space::Outcome& value) { value = static_cast<space::Outcome>(below(11)); }
  void fill(space::Purpose& value) { value = static_cast<space::Purpose>(below(4)); }
  void fill(measure::PairMethod& value) { value = static_cast<measure::PairMethod>(below(3)); }
  void fill(measure::PartKind& value) { value = static_cast<measure::PartKind>(below(2)); }
  void fill(tuner::OrderEnd& value) { value = static_cast<tuner::OrderEnd>(below(5)); }
  void fill(tuner::RunOrder::Learning& value) { value = static_cast<tuner::RunOrder::Learning>(below(3)); }
  void fill(db::Side& value) { value = static_cast<db::Side>(below(2)); }
  template <std::integral T>
  void fill(T& value) {
    value = static_cast<T>(1 + below(std::same_as<T, std::uint64_t> ? ~0ULL : (1ULL << (8 * sizeof(T) - 2))));
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (below(3) > 0) fill(value.emplace());
  }
  template <typename T>
  void fill(std::vector<T>& value) {
    value.resize(below(3));
    for (T& each : value) fill(each);
  }
  template <typename... Each>
  void fill(std::variant<Each...>& value) {
    const auto index = below(sizeof...(Each));
    std::size_t next = 0;
    ((next++ == index ? fill(value.template emplace<Each>()) : void()), ...);
  }
  template <typename T>
    requires requires(T& value) { members(value); }
  void fill(T& value) {
    std::apply([this](auto&... each) { (fill(each), ...); }, members(value));
  }

 private:
  inline static const std::vector<std::string> kTexts = {"",       "mnist",     "\"quoted\" \\ \n",
                                                         "größer", "/runs/a b", "null"};
  std::mt19937_64 random_;
};

tuner::Order some_order(std::uint64_t seed) {
  Filler filler(seed);
  tuner::Order order;
  filler.fill(order);
  // What is not refused.
  order.process_sd = 0.07;
  order.runs_folder = seed % 2 == 0 ? "" : "/runs of mine";
  if (auto* stack = std::get_if<tuner::PreparationOrder>(&order.task)) filler.fill(stack->ladder.emplace_back());
  if (auto* gate = std::get_if<tuner::GateOrder>(&order.task); gate != nullptr && gate->run.gate) {
    if (gate->run.gate->write) gate->run.gate->write = "initial state";
  }
  return order;
}

tuner::OrderAnswer some_answer(std::uint64_t seed) {
  tuner::OrderAnswer answer;
  Filler(seed).fill(answer);
  // What belongs to a database, or is said once.
  if (auto* trial = std::get_if<tuner::TrialAnswer>(&answer.result)) {
    trial->reserved.reset();
    trial->equal_to.reset();
    trial->ratios = 0;
    trial->node.clear();
    trial->machine.reset();
    trial->reservation = {.number = trial->trial.number,
                          .configuration = trial->trial.configuration,
                          .fidelity = trial->trial.fidelity,
                          .key = trial->reservation.key};
  }
  if (auto* pair = std::get_if<tuner::PairAnswer>(&answer.result))
    pair->pair.candidate_trial = pair->pair.baseline_trial = 0;
  return answer;
}

/// As another process reads it.
json sent(const json& document) {
  return json::parse(document.dump());
}

std::string refusal_of(const json& document) {
  const auto order = tuner::order_from_text(document.dump());
  return order ? std::string("taken") : order.error();
}

}  // namespace

TEST_CASE("an order and an answer that are written and read again are what they were", "[executor]") {
  std::vector<int> kinds(5), answers(5);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const tuner::Order order = some_order(seed);
    const auto order_again = tuner::order_from_json(sent(tuner::to_json(order)));
    if (!order_again) FAIL(order_again.error());
    CHECK(same(*order_again, order));
    CHECK(tuner::to_json(*order_again) == tuner::to_json(order));
    ++kinds.at(order.task.index());
    const tuner::OrderAnswer answer = some_answer(seed);
    const auto answer_again = tuner::answer_from_json(sent(tuner::to_json(answer)));
    if (!answer_again) FAIL(answer_again.error());
    CHECK(same(*answer_again, answer));
    ++answers.at(answer.result.index());
    if (answer.result.index() != order.task.index()) CHECK_FALSE(tuner::order_from_json(tuner::to_json(answer)));
  }
  for (std::size_t i = 0; i < 5; ++i) CHECK(std::min(kinds[i], answers[i]) > 50);
}

TEST_CASE("what the fuzzer of orders begins with are orders of each kind", "[executor]") {
  std::set<std::size_t> kinds;
  for (const auto& entry : space::entries_of(NOCTURNE_SOURCE_DIR "/tests/fuzz/corpus/order")) {
    const auto order = tuner::order_from_text(space::read_file(entry.path()).value());
    INFO(entry.path().string());
    if (!order) FAIL(order.error());
    kinds.insert(order->task.index());
  }
  CHECK(kinds.size() == 5);
}

TEST_CASE("an answer keeps a loss that is no number", "[executor]") {
  tuner::GateAnswer gate;
  gate.run.run.accuracy = space::Accuracy{.accuracy = 0.1, .loss = std::nan(""), .examples = 100};
  const auto read = tuner::answer_from_json(sent(tuner::to_json(tuner::OrderAnswer{.machine = {}, .result = gate})));
  REQUIRE(read);
  CHECK(std::isnan(std::get<tuner::GateAnswer>(read->result).run.run.accuracy->loss));
}

TEST_CASE("a hostile order is refused with the place and the reason", "[executor]") {
  tuner::Order order{.document = {{"campaign", "test"}}, .task = tuner::TrialOrder{.number = 3}};
  const json trial = tuner::to_json(order);
  REQUIRE(refusal_of(trial) == "taken");
  const auto with = [](json document, const char* pointer, json value) {
    document[json::json_pointer(pointer)] = std::move(value);
    return refusal_of(document);
  };
  CHECK(with(trial, "/trial/number", -1) == "/trial/number: must be at least 0");
  CHECK(with(trial, "/trial/number", "3") == "/trial/number: must be a whole number");
  CHECK(with(trial, "/trial/number", 1.5) == "/trial/number: must be a whole number");
  CHECK(with(trial, "/trial/number", ~0ULL) == "/trial/number: is too large or too small");
  CHECK(with(trial, "/trial/purpose", "fun") == "/trial/purpose: is none of the words that are known here");
  CHECK_THAT(with(trial, "/trial/configuration", {{"batch", json::array()}}),
             ContainsSubstring("/trial/configuration: ") && ContainsSubstring("batch"));
  CHECK(with(trial, "/trial/incumbent", json::object()) == "/trial/incumbent/seconds: is missing");
  CHECK(with(trial, "/trial/colour", "red") == "/trial/colour: is no key of this document");
  CHECK(with(trial, "/colour", "red") == "/colour: is no key of this document");
  CHECK(with(trial, "/describe", {{"parts", nullptr}}) == "/trial: is no key of this document");
  CHECK(with(trial, "/version", 1) == "/version: must be 4");
  CHECK(with(trial, "/prepare_within_ns", 0) == "taken");
  CHECK(with(trial, "/prepare_within_ns", -1) == "/prepare_within_ns: must be at least 0");
  CHECK(with(trial, "/schema", "answer") == "/schema: must be \"order\"");
  CHECK(with(trial, "/document", nullptr) == "/document: must be the document of a campaign");
  CHECK(with(trial, "/process_sd", 0) == "/process_sd: must be above 0 and below 10");
  CHECK(with(trial, "/cpus", {0, "1"}) == "/cpus/1: must be a whole number");
  CHECK(with(trial, "/cpus", {1ULL << 40U}) == "/cpus/0: is too large or too small");
  CHECK(with(trial, "/runs_folder", "runs") == "/runs_folder: must be an absolute path");
  json nothing = trial;
  nothing.erase("trial");
  CHECK_THAT(refusal_of(nothing), ContainsSubstring("one of describe, prepare, trial, pair, gate is missing"));

  order.task = tuner::GateOrder{.run = {.deadline = {}, .gate = protocol::GateRequest{.write = "initial-state"}}};
  const json gate = tuner::to_json(order);
  REQUIRE(refusal_of(gate) == "taken");
  for (const char* path : {"/etc/passwd", "../other", "..", ".", "", "a/b"})
    CHECK_THAT(with(gate, "/gate/run/gate/write", path), ContainsSubstring("/gate/run/gate/write: must be the name"));
  order.task = tuner::PreparationOrder{};
  CHECK(refusal_of(tuner::to_json(order)) == "/prepare/ladder: must have a configuration");
  order.task = tuner::PairOrder{.slices = 0};
  CHECK(refusal_of(tuner::to_json(order)) == "/pair/slices: must be at least 1");

  CHECK(tuner::order_from_text("{").error() == "/: this is not JSON");
  CHECK(tuner::order_from_text("[]").error() == "/: must be an object");
  CHECK_THAT(tuner::order_from_text(std::string(1 << 20, '[')).error(), ContainsSubstring("nested too deep"));
  CHECK_THAT(tuner::order_from_text(std::string(tuner::kLongestOrderBytes + 1, ' ')).error(), ContainsSubstring("MiB"));
}

}  // namespace nocturne::test
