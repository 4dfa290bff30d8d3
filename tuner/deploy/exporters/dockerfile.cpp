#include <fmt/format.h>

#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/image_contents.hpp"
#include "tuner/deploy/job_resources.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

/// A list of words, as JSON has it: the only form in which a path may hold a space.
std::string words_of(std::string_view from, std::string_view to) {
  return nlohmann::json{from, to}.dump();
}

/// The context is the host's root folder; the path is one that is_copyable() has let through.
std::string copy_line(const std::filesystem::path& path) {
  return fmt::format("COPY {}\n", words_of(path.relative_path().string(), path.string()));
}

}  // namespace

std::string export_dockerfile(const Profile& profile) {
  const ImageContents contents = image_contents(profile);
  const std::string name = image_name(profile);
  std::string text = "# An image that trains.\n" + image_comments(profile, contents);
  text += "#\n# Build it where it was exported; the folder is /, for files keep their paths, and no other is sent:\n";
  text += fmt::format("#   podman build --tag {} --file FILE /        (docker: with BuildKit)\n", name);
  text += fmt::format("#   podman run --rm {}--volume {}:{}:ro --volume \"$PWD\":{} {} {}\n",
                      job_resources(profile).gpu ? "--device nvidia.com/gpu=all " : "",
                      without_templates(comment_text(shell_quote(profile.training.data_folder.string()))), kDataInside,
                      kResultsInside, name, argument_words(profile));
  text += fmt::format("ARG BASE{}{}\n\n", contents.base.empty() ? "" : "=", contents.base);
  text += "FROM $BASE AS build\n";
  for (const std::string& command : build_commands(contents)) text += "RUN " + command + "\n";
  text += "\nFROM $BASE\n";
  for (const auto& path : contents.copied) text += copy_line(path);
  if (!contents.environment.empty()) {
    const std::string folder = contents.environment.string();
    text += fmt::format("COPY --from=build {}\n", words_of(folder, folder));
  }
  text += fmt::format("COPY --from=build {0} {0}\n", kScriptInside);
  text += fmt::format("RUN mkdir -p {} {}\n", kDataInside, kResultsInside);
  text += fmt::format("ENV DATA={}\nWORKDIR {}\n", kDataInside, kResultsInside);
  return text + fmt::format("ENTRYPOINT [\"/bin/sh\", \"{}\"]\n", kScriptInside);
}

}  // namespace nocturne::deploy
