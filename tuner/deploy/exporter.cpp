#include "tuner/deploy/exporter.hpp"

namespace nocturne::deploy {

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> list = {
      {"json", "json", "the profile, for `nocturne apply` and other programs", false, export_json},
      {"env", "env", "environment variables, for `. FILE` and systemd", false, export_env},
      {"sh", "sh", "a shell script that trains exactly as measured", true, export_sh},
      {"slurm", "slurm", "a job script for Slurm: sbatch FILE", true, export_slurm},
      {"torque", "pbs", "a job script for Torque and PBS: qsub FILE", true, export_torque},
      {"dockerfile", "Dockerfile", "an image for podman and Docker", false, export_dockerfile},
      {"charliecloud", "charliecloud", "a script that builds an image for Charliecloud and trains in it", true,
       export_charliecloud},
      {"apptainer", "def", "an image for Apptainer and Singularity", false, export_apptainer},
      {"shifter", "shifter", "a job script for Shifter under Slurm", true, export_shifter},
      {"changes", "txt", "the lines that do the same in your own script, and around it", false, export_changes},
  };
  return list;
}

const Exporter* find_exporter(std::string_view name) {
  for (const Exporter& exporter : exporters())
    if (exporter.name == name) return &exporter;
  return nullptr;
}

}  // namespace nocturne::deploy
