#pragma once

/// Runs workers on this machine.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "measure/artifact/artifact.hpp"
#include "measure/run/launch.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/containment.hpp"
#include "tuner/executor/environment_maker.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/staging.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::tuner {

class LocalExecutor final : public Executor {
 public:
  struct Options {
    Installation installation;
    std::filesystem::path builds_folder;           ///< artifacts, shared by all campaigns
    std::filesystem::path runs_folder;             ///< a folder a run
    std::filesystem::path database;                ///< keeps their records (stray_runs.hpp)
    std::filesystem::path caches_folder;           ///< caches of graph compilers, where the campaign wants them warm
    std::filesystem::path images_folder;           ///< root file systems of containers; empty: only the host
    std::filesystem::path user_images;             ///< the user's recipes of images; empty: none
    std::int64_t memory_bytes = 0;                 ///< limit of a run where the campaign names none; 0: no limit
    std::shared_ptr<const Frameworks> frameworks;  ///< null: our own workers alone
    std::int64_t downloaded_bytes = 0;             ///< for environments, by earlier sessions of the campaign
    std::filesystem::path
        local_folder{};  ///< on a disk of this node: what runs load is copied there; empty: nothing is
    std::function<void(std::string_view)> installing;  ///< hears the lines of an installation; may be empty
    std::function<void(const std::string&)> note{};    ///< hears sentences about this machine; may be empty
  };

  /// `spec` must outlive the executor.
  LocalExecutor(const CampaignSpec& spec, Options options);

  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare(const space::Configuration& configuration,
                                                                          std::stop_token stop) override;
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_reference(
      const space::Configuration& configuration, std::stop_token stop) override;
  [[nodiscard]] measure::RunPlan plan(const space::Configuration& configuration, const PreparedWorker& prepared,
                                      const RunOrder& order) override;
  [[nodiscard]] space::Run run(const measure::RunPlan& plan, const measure::RunControl& control) override;
  [[nodiscard]] measure::PairResult run_pair(const measure::PairPlan& plan,
                                             const measure::PairControl& control) override;
  [[nodiscard]] std::map<std::string, double> install_seconds(std::int64_t began_unix_ns) const override;
  [[nodiscard]] std::vector<int> cpus() const override;
  [[nodiscard]] std::int64_t memory_limit_bytes() const override;
  [[nodiscard]] std::int64_t shared_memory_bytes() const override;

 private:
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_own(
      const space::Configuration& configuration);
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_worker(
      const WorkerChoice& choice, const space::Configuration& configuration, const std::stop_token& stop);
  /// Each completes what every worker has.
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_build(
      const WorkerRecipe& worker, const std::filesystem::path& onednn, const space::Configuration& configuration,
      PreparedWorker prepared, const std::stop_token& stop);
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_environment(
      const measure::EnvironmentRecipe& recipe, PreparedWorker prepared, const std::stop_token& stop);
  /// By its kind, one of the following.
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_recipe(
      const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared,
      const std::stop_token& stop);
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_library(
      const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared,
      const std::stop_token& stop);
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_image(
      const measure::EnvironmentRecipe& recipe, const space::Configuration& configuration, PreparedWorker prepared);
  /// Leads to the library of a worker that was built here, on this node's own disk.
  void stage_library(const std::filesystem::path& prefix, const space::Configuration& configuration,
                     PreparedWorker& prepared, const std::stop_token& stop);
  [[nodiscard]] std::expected<measure::Artifact, PreparationFailure> obtain(const WorkerRecipe& worker,
                                                                            const measure::BuildFlags& flags,
                                                                            const std::filesystem::path& onednn,
                                                                            const std::stop_token& stop);
  const CampaignSpec& spec_;
  Options options_;
  measure::ArtifactStore artifacts_;
  measure::LaunchMachine machine_;
  EnvironmentMaker environments_;
  Staging staging_;
  Containment containment_;
  /// Flags → artifact found in this session: the key costs a preprocessor run per source file.
  std::map<std::string, measure::Artifact> found_;
  /// Run → the user's command it starts.
  std::map<std::string, std::shared_ptr<const measure::CommandTemplate>> commands_;
};

}  // namespace nocturne::tuner
