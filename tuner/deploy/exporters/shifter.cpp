#include <fmt/format.h>

#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/image_contents.hpp"
#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

constexpr std::string_view kShifterChecks = R"sh(
fail() { printf '%s: %s\n' "${0##*/}" "$1" >&2; exit "${2:-5}"; }

command -v shifter >/dev/null || fail 'shifter is missing'
[ -n "${IMAGE:-}" ] || fail 'name the image that was pushed: IMAGE=docker:REGISTRY/NAME:TAG' 2
[ -d "$data" ] || fail "the data folder $data is missing; name it with DATA=FOLDER"
case $data$PWD in *[:\;]*) fail 'Shifter cannot be given a path with a colon or a semicolon' ;; esac
)sh";

}  // namespace

std::string export_shifter(const Profile& profile) {
  const ImageContents contents = image_contents(profile);
  const JobResources resources = job_resources(profile);
  const std::string name = image_name(profile);
  std::string text = "#!/bin/sh\n" + slurm_directives(profile, resources);
  text += "# A job that trains in an image, for Shifter under Slurm.\n" + image_comments(profile, contents);
  text += resource_comments(profile, resources);
  text += "#\n# Before: export --format dockerfile, build it, push it to a registry that the site reads, and\n";
  text += fmt::format("#   shifterimg pull docker:REGISTRY/{}:TAG\n", name);
  text += fmt::format("# Use: IMAGE=docker:REGISTRY/{}:TAG sbatch FILE {}\n", name, argument_words(profile));
  text += "set -eu\n\n";
  text += fmt::format("data={}\n", shell_quote(profile.training.data_folder.string()));
  text += "if [ -n \"${DATA:-}\" ]; then data=$DATA; fi\n" + std::string(kShifterChecks);
  if (!contents.obstacle.empty()) text += fmt::format("fail {} 1\n", shell_quote(contents.obstacle));
  text += fmt::format(
      "DATA={0}; export DATA\nexec shifter --image=\"$IMAGE\" --volume=\"$data:{0};$PWD:{1}\" "
      "--workdir={1} /bin/sh {2} \"$@\"\n",
      kDataInside, kResultsInside, kScriptInside);
  return text;
}

}  // namespace nocturne::deploy
