#include "tests/tuner/campaign/simulated_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/tuner/campaign/equal_configurations.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::test {
namespace {

using std::chrono::nanoseconds;
using tuner::OrderEnd;
using Moment = std::chrono::steady_clock::time_point;

constexpr int kMostSessions = 30;
constexpr double kStep = 0.02;       // seconds, of the default on an average node
constexpr double kProcessSd = 0.13;  // of the noise that is recorded: what `nocturne noise` would say
constexpr double kDriftSeconds = 240;
constexpr std::size_t kBadNodePlace = 3;
constexpr double kBadNode = 0.34;  // ln of 1.4
constexpr double kBadScatter = 4;
constexpr double kBadLoss = 0.1;
constexpr std::size_t kSamples = 12;  // of a run

tuner::CampaignSpec spec_of(const ClusterTraits& traits) {
  const std::string ranges =
      R"({"name": "a", "stage": "run", "range": [1, 12], "default": 4},
         {"name": "b", "stage": "run", "range": [1, 12], "default": 4},
         {"name": "c", "stage": "run", "range": [1, 12], "default": 4})";
  auto spec = tuner::parse_campaign(fmt::format(R"({{
        "campaign": "cluster", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
        "objective": {{"minimise": "time", "epochs": [12]}}, "worker": {{"command": ["/bin/true"]}},
        "space": {{"parameters": [{{"name": "lever", "stage": "run", "type": "boolean", "default": false}}, {}]}},
        "strategy": {{"name": "{}", "seed": {}}}, "budget": {{"trials": {}}},
        "verify": {{"gate": {{"on": false}}, "accuracy_epochs": 0}}}})",
                                                ranges, traits.strategy, traits.seed, traits.trials),
                                    "cluster.json", "/", space::Facts());
  if (!spec) throw std::runtime_error(tuner::to_text(spec.error()));
  spec->run.process_sd = kProcessSd;
  return *std::move(spec);
}

bool has_lever(const space::Configuration& configuration) {
  const space::Value* value = configuration.find("lever");
  return value != nullptr && *value == space::Value(true);
}

nanoseconds time_of(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

/// CPU seconds of this process.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Adds the CPU time of its life to a sum.
class CpuTime {
 public:
  explicit CpuTime(double& sum) : sum_(sum) {}
  CpuTime(const CpuTime&) = delete;
  CpuTime& operator=(const CpuTime&) = delete;
  ~CpuTime() { sum_ += cpu_seconds() - began_; }

 private:
  double& sum_;
  double began_ = cpu_seconds();
};

struct SimulatedNode {
  std::string name;
  double effect = 0, phase = 0;
  RecordedNoise noise;
  space::Fingerprint fingerprint;
  bool bad = false;
  bool busy = false;
  std::optional<Moment> default_at;  ///< when it was measured last
};

/// Outlives the sessions, as nodes do.
class SimulatedCluster final : public tuner::OrderExecutor {
 public:
  SimulatedCluster(const ClusterTraits& traits, const tuner::CampaignSpec& spec, ManualClock& clock);

  double own_cpu = 0;  ///< seconds that this took
  /// CPU seconds of the process, less those: from the first order to the last trial before the first pair.
  double first_cpu = 0, last_cpu = 0;
  std::size_t pairs = 0, most_trials = 0, most_pairs = 0;
  std::map<std::int64_t, int> told;  ///< how often a trial's result was given

  /// What was in flight in a session that ended.
  void forget_flights();

  [[nodiscard]] std::size_t slots() const override { return nodes_.size(); }
  void submit(tuner::TrialOrder order) override;
  [[nodiscard]] tuner::TrialAnswer next() override;
  [[nodiscard]] std::vector<tuner::DefaultOnNode> take_defaults() override { return std::exchange(defaults_, {}); }
  [[nodiscard]] std::vector<std::string> pair_nodes() const override;
  void submit_pair(const std::string& node, tuner::PairOrder order) override;
  [[nodiscard]] tuner::PairOnNode next_pair() override;

 private:
  struct Flight {
    SimulatedNode* node = nullptr;
    tuner::TrialOrder trial{};
    tuner::PairOrder pair{};
    bool lost = false;
  };
  using Flights = std::multimap<Moment, Flight>;

  [[nodiscard]] double draw() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  void begin(Flights& flights, Flight flight, double trials);
  [[nodiscard]] Flight land(Flights& flights);
  /// ln of what a step takes on the node more than nominally, now.
  [[nodiscard]] double slowness(const SimulatedNode& node, const space::Configuration& configuration) const;
  /// Seconds of a step of a process measured alone.
  [[nodiscard]] double step_alone(SimulatedNode& node, const space::Configuration& configuration) const;
  [[nodiscard]] space::Run run_of(space::Purpose purpose, double step, std::size_t samples, std::int64_t steps);
  [[nodiscard]] tuner::TrialAnswer measure(SimulatedNode& node, const tuner::TrialOrder& order, space::Purpose purpose);
  [[nodiscard]] tuner::PairAnswer measure(SimulatedNode& node, const tuner::PairOrder& order);
  void measure_default(SimulatedNode& node);

  const ClusterTraits traits_;
  const tuner::CampaignSpec& spec_;
  ManualClock& clock_;
  std::mt19937_64 random_;
  std::vector<SimulatedNode> nodes_;
  Flights trials_, pairs_;
  std::vector<tuner::DefaultOnNode> defaults_;
  std::size_t runs_ = 0;
};

SimulatedCluster::SimulatedCluster(const ClusterTraits& traits, const tuner::CampaignSpec& spec, ManualClock& clock)
    : traits_(traits), spec_(spec), clock_(clock), random_(traits.seed) {
  std::normal_distribution<double> effect(0, traits.node_sd);
  for (std::size_t i = 0; i < traits.nodes; ++i) {
    SimulatedNode node{.name = fmt::format("n{}", i + 1),
                       .effect = effect(random_),
                       .phase = 2 * std::numbers::pi * draw(),
                       .noise = RecordedNoise(traits.seed * 10'000 + i),
                       .fingerprint = {},
                       .bad = traits.bad_node && i == kBadNodePlace,
                       .default_at = {}};
    if (node.bad) node.effect += kBadNode;
    node.fingerprint.set({.name = "system.host", .value = node.name, .match = space::Match::Ignore});
    nodes_.push_back(std::move(node));
  }
}

void SimulatedCluster::forget_flights() {
  trials_.clear();
  pairs_.clear();
  for (SimulatedNode& node : nodes_) node.busy = false;
}

double SimulatedCluster::slowness(const SimulatedNode& node, const space::Configuration& configuration) const {
  const double now = std::chrono::duration<double>(clock_.steady().time_since_epoch()).count();
  const double drift = traits_.drift * std::sin(2 * std::numbers::pi * now / kDriftSeconds + node.phase);
  double own = 0;
  if (traits_.interaction_sd > 0) {
    std::mt19937_64 random(std::hash<std::string>()(node.name + configuration.identity()) + traits_.seed);
    own = std::normal_distribution<double>(0, traits_.interaction_sd)(random);
  }
  return node.effect + drift + own - (has_lever(configuration) ? traits_.planted : 0);
}

double SimulatedCluster::step_alone(SimulatedNode& node, const space::Configuration& configuration) const {
  return kStep * std::exp(slowness(node, configuration) + node.noise.alone());
}

void SimulatedCluster::begin(Flights& flights, Flight flight, double trials) {
  SimulatedNode& node = *flight.node;
  if (node.busy) throw std::runtime_error(node.name + " was given an order beside another one");
  node.busy = true;
  flight.lost = draw() < (node.bad ? kBadLoss : traits_.lost);
  const double takes = trials * std::exp(node.effect) * (flight.lost ? draw() : 1);
  const double seconds = std::chrono::duration<double>(traits_.trial).count() * takes;
  flights.emplace(clock_.steady() + time_of(seconds), std::move(flight));
}

SimulatedCluster::Flight SimulatedCluster::land(Flights& flights) {
  if (flights.empty()) throw std::runtime_error("an answer is waited for that nobody will give");
  const auto first = flights.begin();
  clock_.pass(std::max(first->first - clock_.steady(), nanoseconds{0}));
  Flight flight = std::move(first->second);
  flights.erase(first);
  flight.node->busy = false;
  return flight;
}

space::Run SimulatedCluster::run_of(space::Purpose purpose, double step, std::size_t samples, std::int64_t steps) {
  space::Run run;
  run.id = fmt::format("run-{}", runs_++);
  run.purpose = purpose;
  run.outcome = space::Outcome::Ok;
  run.started_unix_ns = 1'700'000'000'000'000'000;
  for (std::size_t i = 0; i < samples; ++i) {
    run.samples.push_back({.first_step = static_cast<std::int64_t>(i) * steps + 1,
                           .steps = steps,
                           .wall = time_of(step * static_cast<double>(steps)),
                           .cpu = {},
                           .data_wait = {},
                           .loss = 0.5});
    run.wall += run.samples.back().wall;
  }
  return run;
}

tuner::TrialAnswer SimulatedCluster::measure(SimulatedNode& node, const tuner::TrialOrder& order,
                                             space::Purpose purpose) {
  tuner::TrialAnswer answer{.number = order.number};
  answer.trial.number = order.number;
  answer.trial.configuration = order.configuration;
  answer.trial.fidelity = {.steps = spec_.run.steps};
  answer.reservation = {.number = order.number,
                        .configuration = order.configuration,
                        .fidelity = answer.trial.fidelity,
                        .key = order.configuration.identity()};
  answer.node = node.name;
  answer.machine = node.fingerprint;
  const double step = step_alone(node, order.configuration);
  space::Run run = run_of(purpose, step, kSamples, 1);
  std::mt19937_64 fate(std::hash<std::string>()(order.configuration.identity()) + traits_.seed);
  const bool is_default = order.configuration == spec_.space.default_configuration();
  if (!is_default && std::uniform_real_distribution<double>(0, 1)(fate) < traits_.crashing) {
    run.outcome = answer.trial.outcome = space::Outcome::Crashed;
    run.reason = answer.trial.reason = "signal 11";
    run.samples.clear();
  } else {
    answer.trial.outcome = space::Outcome::Ok;
    answer.trial.parts = space::Parts{.steps_per_epoch = 10, .steady_step = step};
    const double seconds = space::total_time(*answer.trial.parts, 12);
    answer.trial.estimate = space::Estimate{.value = seconds, .standard_error = 0.002 * seconds, .runs = 1};
  }
  answer.runs.push_back({.run = std::move(run), .fingerprint = node.fingerprint.identity()});
  return answer;
}

tuner::PairAnswer SimulatedCluster::measure(SimulatedNode& node, const tuner::PairOrder& order) {
  ++pairs;
  const double common = node.noise.alone();
  const double apart = node.noise.pair() * (node.bad ? kBadScatter : 1);
  const auto step = [&](const tuner::PairOrder::Side& side, double more) {
    return kStep * std::exp(slowness(node, side.configuration) + common + more);
  };
  const double baseline = step(order.baseline, apart / 2), candidate = step(order.candidate, -apart / 2);
  const auto slices = static_cast<std::size_t>(order.slices);
  const auto recorded = [&](double seconds, std::int64_t steps) -> db::RunRecord {
    return {.run = run_of(space::Purpose::Verify, seconds, slices, steps), .fingerprint = node.fingerprint.identity()};
  };
  tuner::PairAnswer answer{
      .complete = true,
      .pair = {.index = order.index,
               .first = tuner::candidate_is_first(order.index) ? db::Side::Candidate : db::Side::Baseline,
               .candidate = recorded(candidate, order.candidate.slice_steps),
               .baseline = recorded(baseline, order.baseline.slice_steps)}};
  for (std::size_t turn = 0; turn < slices; ++turn) {
    for (const auto& [side, run] : {std::pair(db::Side::Candidate, &answer.pair.candidate.run),
                                    std::pair(db::Side::Baseline, &answer.pair.baseline.run)}) {
      const space::Sample& sample = run->samples[turn];
      answer.pair.slices.push_back(
          {.side = side, .first_step = sample.first_step, .steps = sample.steps, .wall_ns = sample.wall.count()});
    }
  }
  return answer;
}

void SimulatedCluster::measure_default(SimulatedNode& node) {
  const tuner::TrialOrder order{.configuration = spec_.space.default_configuration()};
  defaults_.push_back({.node = node.name, .answer = measure(node, order, space::Purpose::Verify)});
}

void SimulatedCluster::submit(tuner::TrialOrder order) {
  const CpuTime counted(own_cpu);
  if (first_cpu == 0) first_cpu = cpu_seconds() - own_cpu;
  std::vector<SimulatedNode*> free;
  for (SimulatedNode& node : nodes_)
    if (!node.busy) free.push_back(&node);
  if (free.empty()) throw std::runtime_error("more orders are in flight than there are nodes");
  SimulatedNode& node = *free[random_() % free.size()];
  const bool is_default = order.configuration == spec_.space.default_configuration();
  const bool before = !node.default_at || clock_.steady() - *node.default_at >= std::chrono::minutes(30);
  if (before && !is_default) measure_default(node);
  if (before || is_default) node.default_at = clock_.steady();
  begin(trials_, {.node = &node, .trial = std::move(order)}, before && !is_default ? 2 : 1);
  most_trials = std::max(most_trials, trials_.size());
}

tuner::TrialAnswer SimulatedCluster::next() {
  const CpuTime counted(own_cpu);
  if (pairs == 0) last_cpu = cpu_seconds() - own_cpu;
  const Flight flight = land(trials_);
  if (flight.lost) return {.number = flight.trial.number, .end = OrderEnd::Lost};
  ++told[flight.trial.number];
  return measure(*flight.node, flight.trial, space::Purpose::Search);
}

std::vector<std::string> SimulatedCluster::pair_nodes() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(traits_.pair_nodes, nodes_.size()); ++i) names.push_back(nodes_[i].name);
  return names;
}

void SimulatedCluster::submit_pair(const std::string& node, tuner::PairOrder order) {
  const CpuTime counted(own_cpu);
  const auto found = std::ranges::find(nodes_, node, &SimulatedNode::name);
  begin(pairs_, {.node = &*found, .pair = std::move(order)}, 2);
  most_pairs = std::max(most_pairs, pairs_.size());
}

tuner::PairOnNode SimulatedCluster::next_pair() {
  const CpuTime counted(own_cpu);
  const Flight flight = land(pairs_);
  tuner::PairOnNode ended{.node = flight.node->name, .index = flight.pair.index};
  if (flight.lost) {
    ended.answer.end = OrderEnd::Lost;
    return ended;
  }
  ended.answer = measure(*flight.node, flight.pair);
  ended.machine = flight.node->fingerprint;
  return ended;
}

/// One session; whether the campaign is complete.
bool sit(const tuner::CampaignSpec& spec, SimulatedCluster& cluster, const ManualClock& clock,
         const std::filesystem::path& folder, int number) {
  FakeExecutor here;  // prepares, and measures nothing
  here.id_suffix = fmt::format("session-{}", number);
  tuner::Observer nobody;
  tuner::Interruption interruption;
  const space::Fingerprint coordinator;
  auto store = db::Store::open(folder / "cluster.db", db::Mode::ReadWrite);
  tuner::Session session{.spec = spec,
                         .store = store,
                         .executor = here,
                         .observer = nobody,
                         .clock = clock,
                         .interruption = interruption,
                         .fingerprint_now = [&coordinator] { return coordinator; },
                         .fingerprint = coordinator,
                         .slot_folder = folder};
  const auto result = tuner::Campaign(session, false, &cluster).run();
  cluster.forget_flights();
  return result.ending == tuner::Ending::Complete;
}

void read_answer(const std::filesystem::path& folder, const ClusterTraits& traits, ClusterCampaign& campaign) {
  const auto store = db::Store::open(folder / "cluster.db", db::Mode::ReadOnly);
  const auto summary = store.load_campaign("cluster");
  const tuner::Answer answer = tuner::answer_of(store, summary);
  campaign.trials = summary.finished;
  if (answer.best) campaign.truth = has_lever(answer.best->trial.configuration) ? traits.planted : 0;
  if (answer.verdict) {
    campaign.verdict = answer.verdict->verdict;
    campaign.low = -answer.verdict->log_ratio_high;
    campaign.high = -answer.verdict->log_ratio_low;
  }
  if (!answer.nodes) return;
  campaign.nodes = answer.nodes->nodes;
  campaign.differs = answer.nodes->differs;
}

}  // namespace

ClusterCampaign simulate_campaign(const ClusterTraits& traits, const std::filesystem::path& folder) {
  const tuner::CampaignSpec spec = spec_of(traits);
  ManualClock clock;
  const auto began = clock.steady();
  SimulatedCluster cluster(traits, spec, clock);
  ClusterCampaign campaign;
  while (!sit(spec, cluster, clock, folder, ++campaign.sessions))
    if (campaign.sessions == kMostSessions) throw std::runtime_error("the campaign does not come to an end");
  campaign.cpu_seconds = cluster.last_cpu - cluster.first_cpu;
  campaign.pairs = cluster.pairs;
  campaign.most_trials_at_once = cluster.most_trials;
  campaign.most_pairs_at_once = cluster.most_pairs;
  campaign.told_twice = std::ranges::count_if(cluster.told, [](const auto& each) { return each.second > 1; });
  campaign.lasted = clock.steady() - began;
  read_answer(folder, traits, campaign);
  return campaign;
}

}  // namespace nocturne::test
