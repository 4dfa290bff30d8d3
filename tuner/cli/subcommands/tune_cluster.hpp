#pragma once

/// `nocturne tune FILE --nodes N`: a campaign on a cluster, by Slurm.

#include <memory>
#include <optional>
#include <string>

#include "measure/machine/machine_part.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/slurm_options.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/executor/slurm/slurm_executor.hpp"
#include "tuner/executor/slurm/watch.hpp"

namespace nocturne::cli {

struct ClusterOptions {
  SlurmWords slurm;         ///< `time` comes from an option of a command, too (tune_command.hpp)
  bool each_class = false;  ///< a campaign on each class of nodes
  bool print = false;       ///< the script alone

  [[nodiscard]] bool any() const { return print || each_class || any_given(slurm); }
  /// Of nodes, that are slots; empty: nodes are.
  [[nodiscard]] std::optional<measure::PartKind> parts() const;
};

void add_cluster(CLI::App& subcommand, ClusterOptions& options);

/// The nodes that a campaign has in this job; empty: this process is in none, or shall write a script. In the shell of
/// salloc, which is on no node, this program is replaced by srun, which starts it again on the first node; where slots
/// are parts of nodes it is replaced by itself in the first part. Says which nodes there are. Throws Refusal.
[[nodiscard]] std::optional<tuner::Allocation> allocation_here(const ClusterOptions& options, const Context& context);

/// Whether the campaign, with the options laid over it, is to become a job.
[[nodiscard]] bool wants_job(const ClusterOptions& options, const tuner::CampaignSpec& spec);

/// Writes the script, lets Slurm check it, and hands it in; with --print it is only printed. Throws Refusal.
[[nodiscard]] ExitCode submit_campaign(const ClusterOptions& options, const Context& context,
                                       const tuner::CampaignSpec& spec);

/// The script of the job, and the folder of what it will print. Throws Refusal.
void write_script(const Context& context, const tuner::CampaignJob& job);

/// "Submitted job 7 for 3 nodes: nocturne status NAME"
[[nodiscard]] std::string submitted_line(const tuner::CampaignJob& job, const std::string& number);

/// Who carries out the orders of the session; null: this process, for it is on the only slot. Throws Refusal.
[[nodiscard]] std::unique_ptr<tuner::SlurmExecutor> open_nodes(const tuner::Allocation& allocation,
                                                               const ClusterOptions& options, const Context& context,
                                                               const tuner::Session& session);

/// Watches this process from a second node, where it can be. Null: on one node nobody can. Throws Refusal.
[[nodiscard]] std::unique_ptr<tuner::CoordinatorWatch> open_watch(const tuner::Allocation& allocation,
                                                                  const Context& context);

/// The job's time was over before the campaign's work was complete: queues it again, and says so. Whether it could.
[[nodiscard]] bool queue_job_again(const tuner::Allocation& allocation, const Context& context);

}  // namespace nocturne::cli
