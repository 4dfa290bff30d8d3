#include <fmt/format.h>

#include "tuner/campaign_file/quantity.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/own_command.hpp"

namespace nocturne::deploy {
namespace {

/// Fifteen characters at most, the first a letter.
std::string job_name(const Profile& profile) {
  std::string name = file_stem(profile.campaign);
  const bool letter = (name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z');
  return (letter ? name : "n" + name).substr(0, 15);
}

}  // namespace

std::string export_torque(const Profile& profile) {
  const JobResources resources = job_resources(profile);
  std::string text = "#!/bin/sh\n";
  text += fmt::format("#PBS -N {}\n#PBS -j oe\n", job_name(profile));
  text += "#PBS -l nodes=1";
  if (resources.threads > 0) text += fmt::format(":ppn={}", resources.threads);
  text += resources.gpu ? ":gpus=1\n" : "\n";
  if (resources.memory_mib) text += fmt::format("#PBS -l mem={}mb\n", *resources.memory_mib);
  if (resources.wall) text += fmt::format("#PBS -l walltime={}\n", tuner::clock_text(*resources.wall));
  if (resources.whole_node) text += "#PBS -n\n";
  text += resource_comments(profile, resources);
  text += fmt::format("# A job gets no arguments: qsub -q QUEUE {}FILE\n#\n",
                      has_own_command(profile) ? "" : "-v EPOCHS=3 ");
  // It begins in the home folder.
  text += "cd -- \"${PBS_O_WORKDIR:-$PWD}\" || exit 5\n#\n";
  return text + job_body(profile);
}

}  // namespace nocturne::deploy
