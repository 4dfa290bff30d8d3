#pragma once

/// Runs workers on this machine.

#include <filesystem>
#include <map>
#include <string>

#include "measure/artifact.hpp"
#include "measure/launch.hpp"
#include "tuner/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/installation.hpp"
#include "tuner/executor/worker_catalogue.hpp"

namespace nocturne::tuner {

class LocalExecutor final : public Executor {
 public:
  struct Options {
    Installation installation;
    std::filesystem::path builds_folder;  ///< artifacts, shared by all campaigns
    std::filesystem::path runs_folder;    ///< a folder a run
    std::int64_t memory_bytes = 0;        ///< limit of a run where the campaign names none; 0: no limit
  };

  /// `spec` must outlive the executor.
  LocalExecutor(const CampaignSpec& spec, Options options);

  [[nodiscard]] std::expected<Prepared, PreparationFailure> prepare(const space::Configuration& configuration,
                                                                    std::stop_token stop) override;
  [[nodiscard]] std::expected<Prepared, PreparationFailure> prepare_reference(const space::Configuration& configuration,
                                                                              std::stop_token stop) override;
  [[nodiscard]] measure::RunPlan plan(const space::Configuration& configuration, const Prepared& prepared,
                                      const RunOrder& order) override;
  [[nodiscard]] space::Run run(const measure::RunPlan& plan, const measure::RunControl& control) override;
  [[nodiscard]] measure::PairResult run_pair(const measure::PairPlan& plan,
                                             const measure::PairControl& control) override;
  [[nodiscard]] std::int64_t memory_limit_bytes() const override;

 private:
  [[nodiscard]] std::expected<Prepared, PreparationFailure> prepare_worker(const WorkerChoice& choice,
                                                                           const space::Configuration& configuration,
                                                                           const std::stop_token& stop);
  [[nodiscard]] std::expected<measure::Artifact, PreparationFailure> obtain(const WorkerRecipe& worker,
                                                                            const measure::BuildFlags& flags,
                                                                            const std::stop_token& stop);
  const CampaignSpec& spec_;
  Options options_;
  measure::ArtifactStore artifacts_;
  measure::LaunchMachine machine_;
  /// Flags → artifact found in this sitting: the key costs a preprocessor run per source file.
  std::map<std::string, measure::Artifact> found_;
};

}  // namespace nocturne::tuner
