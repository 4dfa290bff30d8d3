#include <fmt/format.h>

#include "space/digest.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/image_contents.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

constexpr std::string_view kImageHelp = R"sh(#
# Use: sh FILE {}        builds the image where it is missing, then trains in it. By environment variables:
#   BASE    base image, as ch-image pulls it      IMAGE   folder that the image is unpacked to
#   DATA    folder with the data set              OUTPUT  folder for the results (made)
)sh";

constexpr std::string_view kImageChecks = R"sh(
fail() { printf '%s: %s\n' "${0##*/}" "$1" >&2; exit "${2:-5}"; }

for tool in ch-image ch-convert ch-run; do
  command -v "$tool" >/dev/null || fail "$tool is missing (package charliecloud)"
done
[ -d "$data" ] || fail "the data folder $data is missing; name it with DATA=FOLDER"
case $data$output in *:*) fail 'Charliecloud cannot be given a path with a colon' ;; esac
mkdir -p -- "$output" || fail "cannot make $output"
# ch-image is a program of the system's own Python.
system=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
USER=${USER:-$(id -un)}
export USER
)sh";

constexpr std::string_view kImageBuild = R"sh(
  PATH=$system ch-image build --build-arg "BASE=$BASE" --tag "$name" --file "$definition" / || fail 'the image cannot be built' 1
  rm -f -- "$definition"
  PATH=$system ch-convert --in-fmt ch-image --out-fmt dir "$name" "$image" || fail 'the image cannot be unpacked' 1
fi
)sh";

}  // namespace

std::string export_charliecloud(const Profile& profile) {
  const ImageContents contents = image_contents(profile);
  const std::string definition = export_dockerfile(profile);
  const std::string name = image_name(profile) + ":" + space::short_digest(definition).substr(0, 12);
  std::string text = "#!/bin/sh\n# Builds an image for Charliecloud, and trains in it.\n";
  text += image_comments(profile, contents) + fmt::format(kImageHelp, argument_words(profile)) + "set -eu\n\n";
  text += fmt::format("name={}\n", name);
  text += fmt::format("BASE=${{BASE:-{}}}\n", contents.base);
  text += "image=${IMAGE:-\"$PWD/$(printf %s \"$name\" | tr : -)\"}\n";
  text += fmt::format("data={}\n", shell_quote(profile.training.data_folder.string()));
  text += "if [ -n \"${DATA:-}\" ]; then data=$DATA; fi\n";
  text += fmt::format("output=${{OUTPUT:-\"$PWD/{}-$(date +%Y%m%dT%H%M%S)-$$\"}}\n", file_stem(profile.campaign));
  text += std::string(kImageChecks) + "if [ ! -d \"$image\" ]; then\n";
  text += "  [ -n \"$BASE\" ] || fail 'name the base image: BASE=NAME' 2\n  definition=$(mktemp)\n";
  for (const std::string& command : writing_commands(definition, "\"$definition\"")) text += "  " + command + "\n";
  text += kImageBuild;
  return text + fmt::format(
                    "exec ch-run --bind=\"$data:{0}\" --bind=\"$output:{1}\" --set-env=DATA={0} --set-env=OUTPUT={1} "
                    "--cd={1} \"$image\" -- /bin/sh {2} \"$@\"\n",
                    kDataInside, kResultsInside, kScriptInside);
}

}  // namespace nocturne::deploy
