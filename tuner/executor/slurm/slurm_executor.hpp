#pragma once

/// Carries orders out on the nodes of a job of Slurm: one slot a node, or one on each of its GPUs or memory nodes; one
/// step an order.
///
/// The node is a block: the default is measured on each before anything else, and again every half hour. What fails on
/// the side of Slurm or a node is never an answer: the order is lost, to be given again, and goes to another node where
/// there is one. A node that loses three orders in a row is left out; so is one of another class, and one on which the
/// default fails while it works elsewhere. Each with a sentence. What Slurm could not begin is no loss: it is given
/// again. A pair is prepared and measured on the node that it was given to, and on no other. A node is told how long it
/// may prepare; the first interruption of the session does not reach it there.
///
/// Where parts of a node are slots each is a block of its own, called NODE/PART, and "node" below means such a part.
/// Its orders are started in it (measure/machine/machine_part.hpp). First the default is measured on one part of each
/// node while the others rest, then on all at once, as often as it takes (measure/comparison/neighbours.hpp): unless
/// that shows that neighbours cost little, one part of each node is used.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "db/error.hpp"
#include "measure/comparison/neighbours.hpp"
#include "measure/machine/machine_part.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/executor/order.hpp"
#include "tuner/executor/order_observer.hpp"
#include "tuner/executor/slurm/allocation.hpp"
#include "tuner/executor/slurm/rhythm.hpp"
#include "tuner/executor/slurm/step.hpp"

namespace nocturne::tuner {

/// The longest that a trial of this campaign can take while all goes well: every run to its deadline, and what must be
/// installed or built before.
[[nodiscard]] std::chrono::nanoseconds longest_order(const CampaignSpec& spec);

/// Not thread-safe, as its interface says; a thread of its own waits for each node.
class SlurmExecutor final : public OrderExecutor {
 public:
  struct Options {
    SlurmCommands commands;
    Allocation allocation;
    std::vector<std::string> program;  ///< what runs on a node, before the word `execute`: nocturne --data FOLDER
    /// In the data folder. Made anew, and removed at the end. What is written here must be seen on the nodes.
    std::filesystem::path folder;
    std::optional<measure::PartKind> parts{};  ///< of a node: each is a slot; empty: the node is one
    std::chrono::nanoseconds longest_order{};
    /// After a step that Slurm could not start, again and again; first a twelfth of it.
    std::chrono::nanoseconds pause = std::chrono::minutes(1);
    Rhythm beats{.pause = std::chrono::seconds(5)};  ///< signs of life of an order: a minute of silence ends it
    std::chrono::nanoseconds default_again = std::chrono::minutes(30);
  };

  /// A node that loses so many orders in a row does not lose them by chance.
  static constexpr int kMostFailures = 3;
  /// A node on which Slurm can start nothing so often, while it can elsewhere, is gone; the second number: where it can
  /// nowhere, for the controller of a cluster is away for a while now and then.
  static constexpr int kMostRefusals = 5, kMostRefusalsOfAll = 30;

  /// Asks all nodes what they are, at once, and keeps those whose fingerprint has the key of `machine`. Blocks; says
  /// what it leaves out. `spec`, `observer` and `interruption` outlive it. The error is a sentence: the data folder is
  /// not shared, or no node is left.
  [[nodiscard]] static std::expected<std::unique_ptr<SlurmExecutor>, std::string> open(
      Options options, const CampaignSpec& spec, const space::Fingerprint& machine, OrderObserver& observer,
      Interruption& interruption);
  SlurmExecutor(const SlurmExecutor&) = delete;
  SlurmExecutor& operator=(const SlurmExecutor&) = delete;
  /// Ends what is in flight.
  ~SlurmExecutor() override;

  [[nodiscard]] std::size_t slots() const override;
  void submit(TrialOrder order) override;
  /// Throws db::Error where the disk of the data folder is full.
  [[nodiscard]] TrialAnswer next() override;
  [[nodiscard]] std::vector<DefaultOnNode> take_defaults() override;
  /// Those that rest after a failure come last.
  [[nodiscard]] std::vector<std::string> pair_nodes() const override;
  void submit_pair(const std::string& node, PairOrder order) override;
  [[nodiscard]] PairOnNode next_pair() override;

 private:
  using Moment = std::chrono::steady_clock::time_point;

  struct Node {
    enum class Default { Unknown, Works, Fails };
    std::string name;                          ///< Slurm's; of a part NODE/PART
    std::string host;                          ///< Slurm's
    std::optional<measure::MachinePart> part;  ///< empty: all of it
    std::vector<int> cpus{};                   ///< of its slot
    bool left_out = false;
    int failures = 0;             ///< orders lost in a row
    int refusals = 0;             ///< orders in a row that Slurm could not begin
    Moment not_before{};          ///< after a failure
    std::optional<Task> order{};  ///< in hand: a trial or a pair
    Default default_state = Default::Unknown;
    Moment default_at{};            ///< when it was measured last
    std::set<std::string> notes{};  ///< what it told, each said once
  };

  SlurmExecutor(Options options, const CampaignSpec& spec, const space::Fingerprint& machine, OrderObserver& observer,
                Interruption& interruption);

  /// Makes the folder; the error says why not.
  [[nodiscard]] std::expected<void, std::string> make_folder() const;
  /// All nodes at once. The error: one does not see the folder, or none is left.
  [[nodiscard]] std::expected<void, std::string> ask_all(const std::function<void(Node&)>& ask);
  /// Again where its answer is lost.
  [[nodiscard]] StepResult ask_until_answered(Node& node, const std::string& file);
  /// What a node answers to the order in that file of the folder. Empty: it is left out, or blind.
  [[nodiscard]] std::optional<OrderAnswer> ask(Node& node, const char* file);
  /// Leaves it out where it is of another class.
  void describe(Node& node);
  /// Makes slots of the parts of nodes: the first of each node, then the second of each.
  [[nodiscard]] std::expected<void, std::string> divide_nodes();

  struct Neighbours {
    measure::NeighbourTest test{};
    std::string failure{};                    ///< of the default beside others, where it works alone
    std::map<Node*, TrialAnswer> defaults{};  ///< as last measured beside others
  };
  /// Measures whether parts of a node disturb each other, and leaves one of each where they may.
  void judge_neighbours();
  /// Once on one node: the default alone, then on all its parts at once.
  void compare_with_neighbours(std::vector<Node*> parts, std::size_t round, Neighbours& seen);
  void share_nodes(const std::map<std::string, std::vector<Node*>>& hosts, Neighbours seen);
  void work(Node& node);
  /// Blocks until there is something to do on it; false: nothing will be any more.
  [[nodiscard]] bool wait_for_work(Node& node);
  /// Waits for what comes into this queue.
  template <typename Answer>
  [[nodiscard]] Answer wait_for(std::deque<Answer>& answers);
  void measure_default(Node& node);
  /// What the default did on this node; leaves it out where it fails here alone, once that is known.
  void judge_default(Node& node, const TrialAnswer& answer);
  void carry_out(Node& node);
  [[nodiscard]] TrialAnswer carry_out(Node& node, const TrialOrder& order, const std::string& name);
  [[nodiscard]] PairOnNode carry_out(Node& node, const PairOrder& order);

  /// One order on one node, with what that says of the node. The error is how it ended without a result.
  [[nodiscard]] std::expected<OrderAnswer, OrderEnd> attempt(Node& node, const Task& task, const std::string& name);
  [[nodiscard]] std::expected<OrderAnswer, OrderEnd> judge(Node& node, const StepResult& result, const Task& task,
                                                           std::int64_t suspensions);
  /// `nocturne execute` on a node, with these words and this standard input.
  [[nodiscard]] StepResult execute(const Node& node, const std::vector<std::string>& words, std::string input,
                                   const std::string& name, const Rhythm& beats, std::chrono::nanoseconds limit) const;
  void rest(const Node& node);

  // REQUIRES of all that follow: the mutex is held.
  [[nodiscard]] bool is_default(const Task& task) const;
  [[nodiscard]] bool wants_default(const Node& node) const;
  [[nodiscard]] bool works_elsewhere(const Node& node) const;
  [[nodiscard]] bool others_try(const Node& node) const;
  [[nodiscard]] Node* choose(std::int64_t number);
  /// Says that what it had in hand was lost.
  void lose_order(Node& node);
  void failed(Node& node, const std::string& reason);
  /// Says what was cut on the node; nothing is installed any more, on no node.
  [[nodiscard]] std::unexpected<OrderEnd> out_of_time(const Node& node, const TaskAnswer& answer);
  void refused(Node& node, const std::string& reason);
  /// Whether the disk of the data folder is full, which ends the session.
  bool is_full();
  void leave_out(Node& node, const std::string& why);
  void say(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  /// Says what the threads had to say.
  void flush();

  const Options options_;
  const CampaignSpec& spec_;
  const space::Fingerprint machine_;
  OrderObserver& observer_;
  Interruption& interruption_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::int64_t, std::set<std::string>> lost_on_;  ///< trial → nodes that lost its order
  std::set<std::string> blind_;                            ///< nodes that do not see the folder
  std::deque<TrialAnswer> answers_;
  std::deque<PairOnNode> pairs_;
  std::vector<DefaultOnNode> defaults_;
  std::vector<std::string> sentences_;
  std::optional<db::Error> full_;     ///< what next() throws
  std::optional<Moment> busy_since_;  ///< empty: no order was given yet
  std::stop_source ending_;
  std::vector<std::jthread> threads_;  ///< the last member: they end before what they use
};

}  // namespace nocturne::tuner
