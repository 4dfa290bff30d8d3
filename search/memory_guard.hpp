#pragma once

/// Keeps a search within memory: how likely a point fits, from the peaks of trials and from those that ran out of it.
///
/// One line in batch size for each combination of the values that matter (model/memory_model.hpp); which parameters
/// those are is chosen anew as trials come. What is nearly sure not to fit is not to be tried; the more trials of a
/// group ran out of memory, the surer the next one must be: kRisk.
///
/// Which values matter is not known until there are kSettled peaks. Until then each value of each unordered parameter
/// has a line of its own, and a point is as likely to fit as the least likely of its lines.
///
/// As soon as a trial held memory of a device (GPU), the device's memory is modelled instead, within the size that its
/// worker reported: batches hardly show in the host's. Trials without device memory then say nothing.
///
/// The batch size does not explain every out-of-memory. One that contradicts its line (as large a batch has fitted with
/// the same values, or the line was all but certain) is left out of it and handed to the model of failures
/// (take_unexplained()). Two of them that nothing contradicts are believed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/model/memory_model.hpp"
#include "space/lattice.hpp"
#include "space/trial.hpp"

namespace nocturne::search {

/// Not thread-safe. The lattice must outlive it.
class MemoryGuard {
 public:
  /// P(fits) below this is not tried, after no, one, two or more out-of-memories of the group.
  static constexpr double kRisk[] = {0.05, 0.5, 0.95};
  /// P(fits) of a group without any trial.
  static constexpr double kUnknown = 0.5;
  static constexpr std::size_t kSettled = 16;

  /// `batch`: the parameter that is the batch size; empty, or without positive numbers as values: nothing is modelled.
  /// `limit_bytes`: limit for one run in the host's memory; 0: not known, so everything fits.
  MemoryGuard(const space::Lattice& lattice, std::string batch, std::int64_t limit_bytes);

  [[nodiscard]] bool models() const { return axis_.has_value(); }
  [[nodiscard]] bool guards() const { return models() && limit_ > 0; }
  /// The device's, where that is what is modelled.
  [[nodiscard]] double limit_bytes() const { return limit_; }

  /// Every trial, whatever its outcome; one told again replaces what was told of it.
  void tell(const space::Trial& trial);
  /// Configurations that ran out of memory for another reason than their batch size, each once.
  [[nodiscard]] std::vector<space::Configuration> take_unexplained();

  /// P(fits); 0: not to be tried. 1 where nothing is guarded.
  [[nodiscard]] double fits(space::Point point);
  /// Expected memory, for reports. Empty: nothing is known of its group, or it has no batch size.
  [[nodiscard]] std::optional<model::MemoryModel::Need> need(space::Point point);
  /// Name of the point's group in lines(), "precision=f32"; empty if all share one line.
  [[nodiscard]] std::string group(space::Point point) const;
  [[nodiscard]] const model::MemoryModel& lines();

 private:
  struct KnownDemand {
    space::Configuration configuration;
    std::vector<space::Level> point;
    std::int64_t batch = 0;
    double bytes = 0;        // its peak; of one out of memory: what it needs more than
    bool exceeded = false;   // it is out of memory
    bool explained = true;   // by its batch size
    bool handed_on = false;  // as unexplained
    std::string group{};
  };
  /// What the trial says of memory; empty: nothing that can be used.
  [[nodiscard]] std::optional<KnownDemand> known_of(const space::Trial& trial) const;
  /// Switches once from the host's memory to the device's; takes the larger size if a trial names one.
  void look_at_device(const space::Trial& trial);
  void learn();
  /// Returns whether the groups changed.
  bool choose_groups();
  /// Builds the lines from the peaks, then judges which of the out-of-memories belong to them.
  void build();
  void add_peak(const KnownDemand& known);
  [[nodiscard]] double judge(const std::string& group, std::int64_t batch) const;
  /// Least P(fits) over the values alone, while groups are not settled; by itself it rules out nothing.
  [[nodiscard]] double judge_cautiously(space::Point point, std::int64_t batch);
  [[nodiscard]] std::optional<std::int64_t> batch_of(space::Point point) const;

  const space::Lattice& lattice_;
  std::string batch_;
  std::optional<std::size_t> axis_;
  double limit_, host_limit_;
  bool on_device_ = false;
  std::vector<KnownDemand> known_;
  std::unordered_map<std::string, std::size_t> place_;  // by identity of the configuration
  std::vector<space::Configuration> unexplained_;       // not taken yet

  std::vector<std::string> names_;       // of the parameters that make groups
  std::vector<std::size_t> parameters_;  // the same by number
  std::size_t chosen_for_ = 0;           // trials when they were chosen
  std::size_t learnt_ = 0;               // of known_
  bool stale_ = false;                   // something was replaced, or an out-of-memory is new
  model::MemoryModel model_;
  model::MemoryModel pooled_;                 // all as one group
  std::vector<model::MemoryModel> by_value_;  // by parameter, its levels as groups; empty once groups are settled
  std::map<std::string, std::size_t> met_;    // out-of-memories by group, whatever explains them
  std::map<std::pair<std::string, std::int64_t>, std::size_t> peaks_told_;  // by group and batch
  struct LevelForecast {
    double fits = 1, risk = 0;
  };
  std::unordered_map<std::uint64_t, LevelForecast> judged_;  // by hash of the batch's level and those of the group
  std::vector<space::Level> key_;                            // of judged_, in the making
  std::unordered_map<std::uint64_t, double> cautious_;       // by parameter, its level and the batch's
};

}  // namespace nocturne::search
