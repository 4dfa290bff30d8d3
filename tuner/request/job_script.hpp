#pragma once

/// The job script of a request: its directives, and behind them what runs.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/request/deployment.hpp"

namespace nocturne::tuner {

/// Mail events for Slurm ("BEGIN,END,FAIL") from Torque's letters ("bef"); words are left as they are.
[[nodiscard]] std::string slurm_mail(std::string_view events);
/// The other way round. What Torque does not know (REQUEUE, TIME_LIMIT) is left out; nothing left: "n".
[[nodiscard]] std::string torque_mail(std::string_view events);

/// Lines "#SBATCH …" or "#PBS …" for these options; none without a scheduler. `options` are those of a request,
/// checked.
[[nodiscard]] std::string job_directives(const nlohmann::json& options, std::string_view scheduler);

/// Where the job was submitted: Torque begins in the home folder.
[[nodiscard]] std::string folder_lines(const JobRequest& request);
/// The module lines of the request's infrastructure.
[[nodiscard]] std::string module_lines(const JobRequest& request);

/// The request's options; what it leaves open (threads, memory, time, GPU) is filled in from what was measured, else
/// from its ranks and threads.
[[nodiscard]] nlohmann::json completed_options(const Deployment& deployment);

/// A POSIX script for the request's scheduler, or for a shell: directives, the site's lines, fragments, what trains as
/// measured or the request's own command.
[[nodiscard]] std::string job_script(const Deployment& deployment);

}  // namespace nocturne::tuner
