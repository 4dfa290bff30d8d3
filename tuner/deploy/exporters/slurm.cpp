#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/job_resources.hpp"

namespace nocturne::deploy {

std::string export_slurm(const Profile& profile) {
  const JobResources resources = job_resources(profile);
  std::string text = "#!/bin/sh\n" + slurm_directives(profile, resources) + resource_comments(profile, resources);
  text += "# What a site wants beside: sbatch --partition=P --account=A FILE [--epochs N]\n#\n";
  return text + job_body(profile);
}

}  // namespace nocturne::deploy
