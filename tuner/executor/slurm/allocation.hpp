#pragma once

/// The nodes that a job of Slurm has, as the process in it sees them: from its environment and Slurm's own commands.

#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::tuner {

/// Slurm's commands, absolute paths. Nothing of Slurm is linked.
struct SlurmCommands {
  std::filesystem::path sbatch{}, scancel{}, scontrol{}, squeue{}, srun{};

  /// On PATH. The error names what is missing.
  [[nodiscard]] static std::expected<SlurmCommands, std::string> find();
};

/// What a command of Slurm says, without the end of its last line. Its controller may be busy, or restarting: two
/// minutes are waited for it. The error is a sentence.
[[nodiscard]] std::expected<std::string, std::string> ask_slurm(std::vector<std::string> words,
                                                                std::map<std::string, std::string> variables = {});

/// A job, and this process in it.
struct Allocation {
  std::string job{};                 ///< its number
  std::vector<std::string> nodes{};  ///< in Slurm's order: a batch script runs on the first
  std::string here{};                ///< the node of this process; empty: none of them, as in the shell of salloc
  bool batch = false;                ///< this process is the batch script's: the job can be queued again
};

/// Empty: this process is in no job. `variables`: its environment. The error is a sentence.
[[nodiscard]] std::expected<std::optional<Allocation>, std::string> present_allocation(
    const std::map<std::string, std::string, std::less<>>& variables);

}  // namespace nocturne::tuner
