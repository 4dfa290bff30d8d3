#pragma once

/// What `blame` has measured, stored as it goes: one that was killed goes on where it was, and anybody can look at it
/// later. It is a campaign blame-NAME whose trials are the programs: trial 0 the present one, each other one of then.
/// Their configurations differ in a parameter `program` alone; that one names them and is told to no worker. Pairs are
/// comparisons with the role blame, the present program the candidate (tuner/campaign/finals/comparing.hpp).
///
/// A record that came to its end is never taken up again: the next one begins a generation of its own. One that did not
/// is, where programs, workload, and the machine's fingerprint are the same.
///
/// Not thread-safe.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/statistics.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::deploy {

/// A program that trains the configuration.
struct BlamedProgram {
  std::string name;  ///< "present 3f2a91bc0d12": different from all others
  std::string why;   ///< it takes part, a clause
};

class BlameRecord {
 public:
  /// `spec`: of the configuration (blame_campaign()). `programs`: the present one first. Store, spec and whatever they
  /// hang on outlive it. Owned: another process measures the same.
  [[nodiscard]] static BlameRecord open(db::Store& store, const tuner::CampaignSpec& spec,
                                        const space::Fingerprint& machine, const measure::Schedule& schedule,
                                        const std::vector<BlamedProgram>& programs);

  [[nodiscard]] db::CampaignId campaign() const { return campaign_; }
  [[nodiscard]] std::int64_t generation() const { return generation_; }
  /// Runs of the present program that an earlier session left.
  [[nodiscard]] std::int64_t found() const { return found_; }
  /// A program as a side of a comparison. `program`: index in programs.
  [[nodiscard]] db::StoredTrial trial(std::size_t program) const;

  /// A run of the present program by itself.
  void add_run(const space::Run& run);
  /// Seconds for the primary horizon, for every run of the present program that ended well.
  [[nodiscard]] std::vector<double> present_seconds() const;

  /// Says what is thought of each program, and gives the campaign back; `ended`: it is not to be taken up again.
  void close(bool ended);

 private:
  struct Side {
    db::TrialId trial = 0;
    bool finished = false;  ///< as a trial
  };
  BlameRecord(db::Store& store, const tuner::CampaignSpec& spec, const measure::Schedule& schedule,
              std::string fingerprint)
      : store_(&store), spec_(&spec), schedule_(schedule), fingerprint_(std::move(fingerprint)) {}
  void begin(const space::Fingerprint& machine, const std::vector<BlamedProgram>& programs);
  void take_up_trials(bool is_new, const std::vector<BlamedProgram>& programs);
  [[nodiscard]] space::Configuration configuration(const std::string& program) const;
  [[nodiscard]] std::vector<space::Run> good_runs(const Side& side) const;

  db::Store* store_;
  const tuner::CampaignSpec* spec_;
  measure::Schedule schedule_;
  std::string fingerprint_;
  std::string parameter_;  ///< that distinguishes the programs
  db::CampaignId campaign_ = 0;
  std::int64_t generation_ = 0, found_ = 0;
  std::vector<space::Configuration> configurations_;
  std::vector<Side> sides_;
};

}  // namespace nocturne::deploy
