#include "tuner/executor/slurm/slurm_executor.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "space/parameter.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/executor/machine_difference.hpp"
#include "tuner/executor/measured_pair.hpp"
#include "tuner/executor/order_json.hpp"
#include "tuner/executor/workplace.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr nanoseconds kLook = std::chrono::seconds(1);  // while it waits for an answer
/// Starting and ending a worker, beyond its deadline.
constexpr nanoseconds kAroundRun = std::chrono::seconds(30);
constexpr nanoseconds kLongestInstallation = std::chrono::minutes(70);  // an hour, and a build
constexpr nanoseconds kLongestBuild = std::chrono::minutes(12);         // ten minutes
constexpr nanoseconds kDescription = std::chrono::minutes(2);
constexpr int kLossesInPause = 60;  // after a loss it is a second
constexpr const char *kDescribe = "describe.json", *kParts = "parts.json";

double percent(double log_ratio) {
  return std::expm1(log_ratio) * 100;
}

/// How this task ended, as the answer says; empty: it is the answer to another one.
std::optional<OrderEnd> end_of(const Task& task, const TaskAnswer& answer) {
  if (const auto* trial = std::get_if<TrialOrder>(&task)) {
    const auto* said = std::get_if<TrialAnswer>(&answer);
    return said != nullptr && said->number == trial->number ? std::optional(said->end) : std::nullopt;
  }
  const auto* pair = std::get_if<PairOrder>(&task);
  const auto* said = std::get_if<PairAnswer>(&answer);
  if (pair == nullptr || said == nullptr) return std::nullopt;
  const bool is_other = said->end == OrderEnd::Finished && said->pair.index != pair->index;
  return is_other ? std::nullopt : std::optional(said->end);
}

/// Between two tries of what Slurm could not start. Mostly its controller was restarted, and that is seconds.
nanoseconds pause_after(int refusals, nanoseconds longest) {
  return refusals == 1 ? longest / 12 : refusals == 2 ? longest / 3 : longest;
}

/// Of a pair, whose sides wait for each other; both were prepared before, on some node.
nanoseconds longest_pair_order(const CampaignSpec& spec) {
  const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(spec.run.deadline);
  return longest_pair(deadline, deadline) + kAroundRun + kLongestBuild;
}

}  // namespace

nanoseconds longest_order(const CampaignSpec& spec) {
  const bool installs = std::ranges::any_of(spec.space.parameters(), [](const space::Parameter& parameter) {
    return parameter.stage == space::Stage::Environment;
  });
  return most_runs(spec.run) * (spec.run.deadline + kAroundRun) + (installs ? kLongestInstallation : kLongestBuild);
}

SlurmExecutor::SlurmExecutor(Options options, const CampaignSpec& spec, const space::Fingerprint& machine,
                             OrderObserver& observer, Interruption& interruption)
    : options_(std::move(options)), spec_(spec), machine_(machine), observer_(observer), interruption_(interruption) {
  for (const std::string& name : options_.allocation.nodes)
    nodes_.push_back(std::make_unique<Node>(Node{.name = name, .host = name}));
}

std::expected<void, std::string> SlurmExecutor::make_folder() const {
  std::error_code ignored;
  fs::remove_all(options_.folder, ignored);
  const auto write = [&](const char* name, std::optional<measure::PartKind> parts) {
    const Order order{
        .document = spec_.document, .process_sd = spec_.run.process_sd, .task = DescribeOrder{.parts = parts}};
    return space::write_file(options_.folder / name, to_json(order).dump());
  };
  if (auto written = write(kDescribe, std::nullopt); !written || !options_.parts) return written;
  return write(kParts, options_.parts);
}

std::expected<std::unique_ptr<SlurmExecutor>, std::string> SlurmExecutor::open(Options options,
                                                                               const CampaignSpec& spec,
                                                                               const space::Fingerprint& machine,
                                                                               OrderObserver& observer,
                                                                               Interruption& interruption) {
  std::unique_ptr<SlurmExecutor> executor(new SlurmExecutor(std::move(options), spec, machine, observer, interruption));
  auto ready = executor->make_folder();
  if (ready && executor->options_.parts) ready = executor->divide_nodes();
  if (ready) ready = executor->ask_all([&](Node& node) { executor->describe(node); });
  if (!ready) return std::unexpected(ready.error());
  if (executor->options_.parts) executor->judge_neighbours();
  for (const auto& node : executor->nodes_)
    executor->threads_.emplace_back([executor = executor.get(), node = node.get()] { executor->work(*node); });
  return executor;
}

std::expected<void, std::string> SlurmExecutor::ask_all(const std::function<void(Node&)>& ask) {
  std::vector<std::jthread> asking;
  for (const auto& node : nodes_)
    if (!node->left_out) asking.emplace_back([&ask, node = node.get()] { ask(*node); });
  asking.clear();
  flush();
  if (full_) return std::unexpected(full_->what());
  if (!blind_.empty()) {
    return std::unexpected(fmt::format(
        "the node {} does not see what this one has just written into the data folder ('{}'): it must lie on a "
        "file system that all nodes share. Name one with --data.",
        *blind_.begin(), options_.folder.parent_path().parent_path().string()));
  }
  if (std::ranges::all_of(nodes_, &Node::left_out)) return std::unexpected("no node is left to measure on");
  return {};
}

SlurmExecutor::~SlurmExecutor() {
  {
    const std::lock_guard lock(mutex_);
    ending_.request_stop();
  }
  changed_.notify_all();
  threads_.clear();
  std::error_code ignored;
  fs::remove_all(options_.folder, ignored);
}

StepResult SlurmExecutor::ask_until_answered(Node& node, const std::string& file) {
  // All wait for it, and it takes seconds: half the silence of an order is enough.
  const Rhythm beats{.pause = options_.beats.pause, .silent_looks = std::max(options_.beats.silent_looks / 2, 1)};
  for (int failures = 0, refusals = 0;;) {
    StepResult result = execute(node, {file}, {}, "describe", beats, kDescription);
    if (result.answer || result.end == StepResult::End::Stopped) return result;
    if (result.end != StepResult::End::NeverRan) {
      if (++failures == kMostFailures) return result;
      node.not_before = steady_clock::now() + options_.pause / kLossesInPause;
    } else {
      if (++refusals == kMostRefusals) return result;
      node.not_before = steady_clock::now() + pause_after(refusals, options_.pause);
    }
    rest(node);
  }
}

std::optional<OrderAnswer> SlurmExecutor::ask(Node& node, const char* file) {
  const std::string whole = (options_.folder / file).string();
  StepResult result = ask_until_answered(node, whole);
  const std::lock_guard lock(mutex_);
  if (result.answer) return std::move(result.answer);
  // What `execute` says of an order that is not there.
  if (result.reason.contains(whole) && !is_full())
    blind_.insert(node.host);
  else
    leave_out(node, "it did not say what it is: " + result.reason);
  return std::nullopt;
}

void SlurmExecutor::describe(Node& node) {
  const auto answer = ask(node, kDescribe);
  if (!answer) return;
  const std::lock_guard lock(mutex_);
  if (const std::string why = difference_words(machine_, answer->machine); !why.empty())
    leave_out(node, "it is of another class: " + why);
  else if (const auto* described = std::get_if<MachineAnswer>(&answer->result))
    node.cpus = described->cpus;
}

std::expected<void, std::string> SlurmExecutor::divide_nodes() {
  std::map<const Node*, std::vector<measure::MachinePart>> parts;
  auto asked = ask_all([&](Node& node) {
    const auto answer = ask(node, kParts);
    const auto* described = answer ? std::get_if<MachineAnswer>(&answer->result) : nullptr;
    if (described == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (described->parts.empty()) leave_out(node, "it has no parts to measure on: " + described->why_no_parts);
    parts[&node] = described->parts;
  });
  if (!asked) return asked;
  std::vector<std::unique_ptr<Node>> slots;
  for (std::size_t index = 0, before = 0; index == 0 || slots.size() > before; ++index) {
    before = slots.size();
    for (const auto& node : nodes_) {
      if (index >= parts[node.get()].size()) continue;
      const measure::MachinePart& part = parts[node.get()][index];
      slots.push_back(
          std::make_unique<Node>(Node{.name = node->host + "/" + part.name, .host = node->host, .part = part}));
    }
  }
  nodes_ = std::move(slots);
  return {};
}

void SlurmExecutor::judge_neighbours() {
  std::map<std::string, std::vector<Node*>> hosts;
  for (const auto& node : nodes_)
    if (!node->left_out) hosts[node->host].push_back(node.get());
  std::erase_if(hosts, [](const auto& host) { return host.second.size() < 2; });
  if (hosts.empty()) return;
  say(fmt::format("whether {} of a node disturb each other is measured first: the default on one alone, then on all",
                  plural(*options_.parts)));
  flush();
  Neighbours seen;
  const auto ends = [&] {
    const std::lock_guard lock(mutex_);
    return full_ || interruption_.requested() || interruption_.out_of_time();
  };
  for (std::size_t round = 0; round < measure::NeighbourTest::kMostRatios && !ends(); ++round) {
    {
      std::vector<std::jthread> measuring;
      for (const auto& [host, parts] : hosts)
        measuring.emplace_back([&, &parts = parts] { compare_with_neighbours(parts, round, seen); });
    }
    flush();
    const auto verdict = seen.test.verdict();
    const bool fruitless = verdict.ratios == 0 && round + 1 >= kMostFailures;
    if (verdict.decided || fruitless || !seen.failure.empty()) break;
  }
  if (!ends()) share_nodes(hosts, std::move(seen));
  flush();
}

void SlurmExecutor::compare_with_neighbours(std::vector<Node*> parts, std::size_t round, Neighbours& seen) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(parts, [](const Node* node) { return node->left_out; });
  }
  if (parts.size() < 2) return;
  const TrialOrder order{.configuration = spec_.space.default_configuration(), .purpose = space::Purpose::Verify};
  const std::size_t chosen = round % parts.size();
  const auto works = [](const TrialAnswer& answer) {
    return answer.end == OrderEnd::Finished && answer.trial.outcome == space::Outcome::Ok && answer.trial.estimate;
  };
  const TrialAnswer alone = carry_out(*parts[chosen], order, "alone");
  if (!works(alone)) return;
  std::vector<TrialAnswer> beside(parts.size());
  {
    std::vector<std::jthread> measuring;
    for (std::size_t i = 0; i < parts.size(); ++i)
      measuring.emplace_back([&, i] { beside[i] = carry_out(*parts[i], order, "beside"); });
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (works(beside[i]))
      seen.defaults[parts[i]] = beside[i];
    else if (beside[i].end == OrderEnd::Finished)
      seen.failure = fmt::format("{} {}", parts[i]->name, beside[i].trial.reason);
  if (works(beside[chosen]))
    seen.test.tell(std::log(beside[chosen].trial.estimate->value / alone.trial.estimate->value));
}

void SlurmExecutor::share_nodes(const std::map<std::string, std::vector<Node*>>& hosts, Neighbours seen) {
  const std::lock_guard lock(mutex_);
  const auto verdict = seen.test.verdict();
  const std::string parts(plural(*options_.parts));
  if (verdict.shared && seen.failure.empty()) {
    say(
        fmt::format("{} of a node do not disturb each other: the default takes {:+.1f} % among working neighbours, at "
                    "most {:+.1f} %; one trial at a time on each",
                    parts, percent(verdict.mean), percent(verdict.high)));
    for (auto& [node, answer] : seen.defaults) {
      node->default_state = Node::Default::Works;
      node->default_at = steady_clock::now();
      defaults_.push_back({.node = node->name, .answer = std::move(answer)});
    }
    return;
  }
  std::string why = "the default was measured on none";
  if (!seen.failure.empty())
    why = "among working neighbours the default fails: " + seen.failure;
  else if (verdict.ratios > 1)
    why =
        fmt::format("the default takes {:+.1f} % among working neighbours ({:+.1f} to {:+.1f} %), and may take {:g} %",
                    percent(verdict.mean), percent(verdict.low), percent(verdict.high),
                    std::round(percent(measure::kMostDisturbance)));
  say(fmt::format("one trial at a time on each node, for that its {} do not disturb each other was not shown: {}",
                  parts, why));
  for (const auto& [host, slots] : hosts) {
    const auto kept = std::ranges::find_if(slots, [](const Node* node) { return !node->left_out; });
    for (Node* node : slots)
      if (kept != slots.end() && node != *kept) node->left_out = true;
  }
}

std::size_t SlurmExecutor::slots() const {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  const auto ready = std::ranges::count_if(
      nodes_, [now](const auto& node) { return !node->left_out && (node->order || node->not_before <= now); });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(ready, 1));
}

SlurmExecutor::Node* SlurmExecutor::choose(std::int64_t number) {
  const std::set<std::string>& lost_on = lost_on_[number];
  Node* chosen = nullptr;
  const auto rank = [&](const Node& node) { return std::pair(lost_on.contains(node.name), node.not_before); };
  for (const auto& node : nodes_) {
    if (node->left_out || node->order) continue;
    if (chosen == nullptr || rank(*node) < rank(*chosen)) chosen = node.get();
  }
  return chosen;
}

void SlurmExecutor::submit(TrialOrder order) {
  observer_.running(order.number, order.configuration);
  const std::lock_guard lock(mutex_);
  if (!busy_since_) busy_since_ = steady_clock::now();
  if (Node* node = choose(order.number)) {
    node->order = std::move(order);
  } else {
    say("no node is left to measure on");
    answers_.push_back({.number = order.number, .end = OrderEnd::Interrupted});
  }
  changed_.notify_all();
}

std::vector<std::string> SlurmExecutor::pair_nodes() const {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  std::vector<std::string> ready, resting;
  for (const auto& node : nodes_)
    if (!node->left_out) (node->not_before <= now ? ready : resting).push_back(node->name);
  ready.insert(ready.end(), resting.begin(), resting.end());
  return ready;
}

void SlurmExecutor::submit_pair(const std::string& node, PairOrder order) {
  const std::lock_guard lock(mutex_);
  if (!busy_since_) busy_since_ = steady_clock::now();
  const auto found =
      std::ranges::find_if(nodes_, [&](const auto& each) { return each->name == node && !each->left_out; });
  if (found != nodes_.end())
    (*found)->order = std::move(order);
  else
    pairs_.push_back({.node = node, .index = order.index, .answer = {.end = OrderEnd::Lost}});
  changed_.notify_all();
}

TrialAnswer SlurmExecutor::next() {
  return wait_for(answers_);
}

PairOnNode SlurmExecutor::next_pair() {
  return wait_for(pairs_);
}

template <typename Answer>
Answer SlurmExecutor::wait_for(std::deque<Answer>& answers) {
  for (;;) {
    flush();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLook, [&] { return full_ || !answers.empty() || !sentences_.empty(); });
    if (full_) throw db::Error(*full_);
    const auto busy = busy_since_ ? steady_clock::now() - *busy_since_ : nanoseconds{0};
    if (!answers.empty() && sentences_.empty()) {
      Answer answer = std::move(answers.front());
      answers.pop_front();
      busy_since_ = steady_clock::now();
      return answer;
    }
    lock.unlock();
    observer_.progress({.elapsed = busy});
  }
}

std::vector<DefaultOnNode> SlurmExecutor::take_defaults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(defaults_, {});
}

void SlurmExecutor::flush() {
  std::unique_lock lock(mutex_);
  const auto sentences = std::exchange(sentences_, {});
  lock.unlock();
  for (const std::string& sentence : sentences) observer_.note(sentence);
}

void SlurmExecutor::work(Node& node) {
  while (wait_for_work(node)) {
    std::unique_lock lock(mutex_);
    const bool before = wants_default(node);
    lock.unlock();
    if (before)
      measure_default(node);
    else
      carry_out(node);
  }
}

bool SlurmExecutor::wait_for_work(Node& node) {
  std::unique_lock lock(mutex_);
  (void)changed_.wait(lock, ending_.get_token(), [&] { return node.left_out || node.order || wants_default(node); });
  return !node.left_out && !ending_.stop_requested();
}

bool SlurmExecutor::is_default(const Task& task) const {
  const auto* trial = std::get_if<TrialOrder>(&task);
  return trial != nullptr && trial->configuration == spec_.space.default_configuration();
}

bool SlurmExecutor::wants_default(const Node& node) const {
  if (!busy_since_ || interruption_.requested() || interruption_.out_of_time()) return false;
  if (node.order && is_default(*node.order)) return false;  // this one says it
  if (node.default_state == Node::Default::Unknown) return true;
  // What nodes differ by cancels in pairs.
  return node.order && std::holds_alternative<TrialOrder>(*node.order) &&
         steady_clock::now() - node.default_at >= options_.default_again;
}

bool SlurmExecutor::works_elsewhere(const Node& node) const {
  return std::ranges::any_of(
      nodes_, [&](const auto& each) { return each.get() != &node && each->default_state == Node::Default::Works; });
}

bool SlurmExecutor::others_try(const Node& node) const {
  return std::ranges::any_of(nodes_, [&](const auto& each) {
    return each.get() != &node && !each->left_out && each->default_state == Node::Default::Unknown;
  });
}

void SlurmExecutor::judge_default(Node& node, const TrialAnswer& answer) {
  std::unique_lock lock(mutex_);
  node.default_at = steady_clock::now();
  const bool works = answer.trial.outcome == space::Outcome::Ok;
  node.default_state = works ? Node::Default::Works : Node::Default::Fails;
  changed_.notify_all();
  if (works) return;
  // Whether it is the node or the configuration is said by the others.
  while (!ending_.stop_requested() && !interruption_.requested() && !works_elsewhere(node) && others_try(node))
    (void)changed_.wait_for(lock, kLook);
  if (works_elsewhere(node))
    leave_out(node, fmt::format("the default fails on it and works elsewhere: {}", answer.trial.reason));
}

void SlurmExecutor::measure_default(Node& node) {
  const TrialOrder order{.configuration = spec_.space.default_configuration(), .purpose = space::Purpose::Verify};
  const TrialAnswer answer = carry_out(node, order, "default");
  if (answer.end != OrderEnd::Finished) return;  // it is wanted still, unless the session ends
  {
    const std::lock_guard lock(mutex_);
    defaults_.push_back({.node = node.name, .answer = answer});
  }
  judge_default(node, answer);
}

void SlurmExecutor::carry_out(Node& node) {
  const auto finish = [&](auto& answers, auto answer) {
    const std::lock_guard lock(mutex_);
    if (!node.order) return;  // the node was left out, and the order with it
    node.order.reset();
    answers.push_back(std::move(answer));
    changed_.notify_all();
  };
  const Task task = *node.order;  // this thread alone takes it away
  if (const auto* pair = std::get_if<PairOrder>(&task)) return finish(pairs_, carry_out(node, *pair));
  const auto& order = std::get<TrialOrder>(task);
  TrialAnswer answer = carry_out(node, order, fmt::format("trial-{}", order.number));
  if (answer.end == OrderEnd::Finished && is_default(order)) judge_default(node, answer);
  finish(answers_, std::move(answer));
}

TrialAnswer SlurmExecutor::carry_out(Node& node, const TrialOrder& order, const std::string& name) {
  auto answer = attempt(node, order, name);
  if (!answer) return {.number = order.number, .end = answer.error()};
  auto finished = std::get<TrialAnswer>(std::move(answer->result));
  finished.machine = std::move(answer->machine);
  finished.node = node.name;
  return finished;
}

PairOnNode SlurmExecutor::carry_out(Node& node, const PairOrder& order) {
  auto answer = attempt(node, order, fmt::format("pair-{}", order.index));
  if (!answer) return {.node = node.name, .index = order.index, .answer = {.end = answer.error()}};
  return {.node = node.name,
          .index = order.index,
          .answer = std::get<PairAnswer>(std::move(answer->result)),
          .machine = std::move(answer->machine)};
}

void SlurmExecutor::rest(const Node& node) {
  std::unique_lock lock(mutex_);
  while (!ending_.stop_requested() && !interruption_.requested() && steady_clock::now() < node.not_before)
    (void)changed_.wait_for(lock, kLook);
}

StepResult SlurmExecutor::execute(const Node& node, const std::vector<std::string>& words, std::string input,
                                  const std::string& name, const Rhythm& beats, nanoseconds limit) const {
  std::vector<std::string> all = options_.program;
  all.insert(all.end(), {"execute", "--beat", duration_text(beats.pause)});
  all.insert(all.end(), words.begin(), words.end());
  if (node.part) all = measure::words_in_part(*node.part, all);
  // Of one name there may be one on each part; trials have numbers.
  const bool told_apart = !node.part || name.starts_with("trial-");
  std::stop_source stop;
  const std::stop_callback with_session(interruption_.token(), [&stop] { stop.request_stop(); });
  const std::stop_callback with_this(ending_.get_token(), [&stop] { stop.request_stop(); });
  return run_step(options_.commands,
                  {.job = options_.allocation.job,
                   .node = node.host,
                   .name = told_apart ? name : name + "-" + node.part->name,
                   .words = std::move(all),
                   .input = std::move(input),
                   .beats = beats},
                  steady_clock::now() + limit, stop.get_token());
}

std::expected<OrderAnswer, OrderEnd> SlurmExecutor::attempt(Node& node, const Task& task, const std::string& name) {
  rest(node);
  const auto suspensions = interruption_.suspensions();
  const auto flight = interruption_.begin();
  if (interruption_.requested() || ending_.stop_requested()) return std::unexpected(OrderEnd::Interrupted);
  const Order whole{.document = spec_.document,
                    .process_sd = spec_.run.process_sd,
                    .cpus = node.cpus,
                    .prepare_within = interruption_.preparation_time(),
                    .task = task};
  const bool is_pair = std::holds_alternative<PairOrder>(task);
  const auto limit = is_pair ? std::max(options_.longest_order, longest_pair_order(spec_)) : options_.longest_order;
  return judge(node, execute(node, {}, to_json(whole).dump(), name, options_.beats, limit), task, suspensions);
}

std::expected<OrderAnswer, OrderEnd> SlurmExecutor::judge(Node& node, const StepResult& result, const Task& task,
                                                          std::int64_t suspensions) {
  const std::lock_guard lock(mutex_);
  if (result.end == StepResult::End::Stopped) {
    const bool suspended = interruption_.again_after_suspension(suspensions);
    return std::unexpected(suspended ? OrderEnd::Suspended : OrderEnd::Interrupted);
  }
  const auto on_this_node = [&] {
    if (const auto* trial = std::get_if<TrialOrder>(&task)) lost_on_[trial->number].insert(node.name);
  };
  const auto lost = [&](const std::string& reason) {
    on_this_node();
    failed(node, reason);
    return std::unexpected(OrderEnd::Lost);
  };
  if (!result.answer && is_full()) return std::unexpected(OrderEnd::Interrupted);
  if (result.end == StepResult::End::NeverRan) {
    on_this_node();
    refused(node, result.reason);
    return std::unexpected(OrderEnd::Suspended);
  }
  node.refusals = 0;
  if (!result.answer) return lost(result.reason);
  const auto end = end_of(task, result.answer->result);
  if (!end) return lost("the answer is to another order");
  // Somebody ended it on its node; the session goes on.
  if (*end != OrderEnd::Finished) {
    if (interruption_.requested()) return std::unexpected(OrderEnd::Interrupted);
    if (*end == OrderEnd::OutOfTime) return out_of_time(node, result.answer->result);
    return lost("it was ended on its node");
  }
  if (const std::string why = difference_words(machine_, result.answer->machine); !why.empty()) {
    leave_out(node, "it changed while it measured: " + why);
    return std::unexpected(OrderEnd::Lost);
  }
  node.failures = 0;
  for (const std::string& note : result.answer->notes)
    if (node.notes.insert(note).second) say(fmt::format("on the node {}: {}", node.name, note));
  return *result.answer;
}

std::unexpected<OrderEnd> SlurmExecutor::out_of_time(const Node& node, const TaskAnswer& answer) {
  const auto* trial = std::get_if<TrialAnswer>(&answer);
  const std::string what = trial != nullptr ? trial->trial.reason : "an installation or a build for a pair was cut";
  say(fmt::format("on the node {} {}; the same command goes on", node.name, what));
  interruption_.cut_preparation();
  return std::unexpected(OrderEnd::OutOfTime);
}

void SlurmExecutor::failed(Node& node, const std::string& reason) {
  node.not_before = steady_clock::now() + options_.pause / kLossesInPause;
  if (++node.failures == kMostFailures)
    leave_out(node, fmt::format("it lost {} orders in a row: {}", kMostFailures, reason));
  else
    say(fmt::format("an order was lost on the node {} and is given again: {}", node.name, reason));
}

void SlurmExecutor::refused(Node& node, const std::string& reason) {
  ++node.refusals;
  const bool others_take_orders = std::ranges::any_of(
      nodes_, [&](const auto& each) { return each.get() != &node && !each->left_out && each->refusals == 0; });
  if (node.refusals >= (others_take_orders ? kMostRefusals : kMostRefusalsOfAll))
    return leave_out(node, fmt::format("nothing could be started on it {} times in a row: {}", node.refusals, reason));
  node.not_before = steady_clock::now() + pause_after(node.refusals, options_.pause);
  if (node.refusals == 1)
    say(fmt::format("an order could not be started on the node {} and is given again: {}", node.name, reason));
}

bool SlurmExecutor::is_full() {
  if (auto full = no_room_in(options_.folder)) full_ = *std::move(full);
  changed_.notify_all();
  return full_.has_value();
}

void SlurmExecutor::leave_out(Node& node, const std::string& why) {
  node.left_out = true;
  say(fmt::format("the node {} is left out: {}", node.name, why));
  if (node.order) lose_order(node);
  changed_.notify_all();
}

void SlurmExecutor::lose_order(Node& node) {
  if (const auto* trial = std::get_if<TrialOrder>(&*node.order))
    answers_.push_back({.number = trial->number, .end = OrderEnd::Lost});
  else if (const auto* pair = std::get_if<PairOrder>(&*node.order))
    pairs_.push_back({.node = node.name, .index = pair->index, .answer = {.end = OrderEnd::Lost}});
  node.order.reset();
}

}  // namespace nocturne::tuner
