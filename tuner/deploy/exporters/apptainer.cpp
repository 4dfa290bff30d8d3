#include <fmt/format.h>

#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/image_contents.hpp"
#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

std::string stage_lines(const ImageContents& contents, std::string_view name) {
  return fmt::format("Bootstrap: docker\nFrom: {}\nStage: {}\n", contents.base.empty() ? "BASE" : contents.base, name);
}

std::string file_word(const std::filesystem::path& path) {
  return path.string().contains(' ') ? "\"" + path.string() + "\"" : path.string();
}

}  // namespace

std::string export_apptainer(const Profile& profile) {
  const ImageContents contents = image_contents(profile);
  const std::string name = image_name(profile);
  std::string text = "# A definition of an image that trains, for Apptainer and Singularity.\n";
  text += image_comments(profile, contents);
  text += "#\n# Build it where it was exported, then run it anywhere:\n";
  text += fmt::format("#   apptainer build {}.sif FILE\n", name);
  text += fmt::format("#   apptainer run {}--bind {}:{}:ro --bind \"$PWD\":{} --pwd {} {}.sif {}\n",
                      job_resources(profile).gpu ? "--nv " : "",
                      without_templates(comment_text(shell_quote(profile.training.data_folder.string()))), kDataInside,
                      kResultsInside, kResultsInside, name, argument_words(profile));
  text += "\n" + stage_lines(contents, "build") + "\n%post\n    set -eu\n";
  for (const std::string& command : build_commands(contents)) text += "    " + command + "\n";
  text += "\n" + stage_lines(contents, "final") + "\n%files from build\n";
  text += fmt::format("    {0} {0}\n", kScriptInside);
  if (!contents.environment.empty()) text += fmt::format("    {0} {0}\n", file_word(contents.environment));
  if (!contents.copied.empty()) text += "\n%files\n";
  for (const auto& path : contents.copied) text += fmt::format("    {0} {0}\n", file_word(path));
  text += fmt::format("\n%post\n    mkdir -p {} {}\n", kDataInside, kResultsInside);
  text += fmt::format("\n%environment\n    export DATA=\"${{DATA:-{}}}\"\n", kDataInside);
  return text + fmt::format("\n%runscript\n    exec /bin/sh {} \"$@\"\n", kScriptInside);
}

}  // namespace nocturne::deploy
