#include <fmt/format.h>

#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/own_command.hpp"

namespace nocturne::deploy {

std::string export_slurm(const Profile& profile) {
  const JobResources resources = job_resources(profile);
  std::string text = "#!/bin/sh\n" + slurm_directives(profile, resources) + resource_comments(profile, resources);
  text +=
      fmt::format("# What a site wants beside: sbatch --partition=P --account=A FILE {}\n#\n", argument_words(profile));
  return text + job_body(profile);
}

}  // namespace nocturne::deploy
