#include <fmt/format.h>

#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/job_resources.hpp"

namespace nocturne::deploy {

std::string export_slurm(const Profile& profile) {
  const JobResources resources = job_resources(profile);
  const std::string name = file_stem(profile.campaign);
  std::string text = "#!/bin/sh\n";
  text += fmt::format("#SBATCH --job-name={}\n#SBATCH --output={}-%j.log\n", name, name);
  text += "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n";
  if (resources.threads > 0) text += fmt::format("#SBATCH --cpus-per-task={}\n", resources.threads);
  if (resources.memory_mib) text += fmt::format("#SBATCH --mem={}M\n", *resources.memory_mib);
  if (resources.wall) text += fmt::format("#SBATCH --time={}\n", clock_text(*resources.wall));
  if (resources.gpu) text += "#SBATCH --gres=gpu:1\n";
  if (resources.whole_node) text += "#SBATCH --exclusive\n";
  text += resource_comments(profile, resources);
  text += "# What a site wants beside: sbatch --partition=P --account=A FILE [--epochs N]\n#\n";
  return text + job_body(profile);
}

}  // namespace nocturne::deploy
