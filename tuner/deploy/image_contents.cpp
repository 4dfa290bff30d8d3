#include "tuner/deploy/image_contents.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure/environment/requirement.hpp"
#include "tuner/deploy/container.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfOneCommand = 64 << 10;  // Linux takes 128 KiB for one argument
constexpr const char* kPlainBase = "docker.io/library/debian:12-slim";

/// Builders expand variables, quotation marks and patterns in the paths of COPY and %files, each in its own way.
bool is_copyable(const fs::path& path) {
  constexpr std::string_view kHarmless = "/._+=@,:~ -";
  return path.is_absolute() && std::ranges::all_of(path.string(), [&](char c) {
           return is_variable_name(std::string(1, c)) || (c >= '0' && c <= '9') || kHarmless.contains(c);
         });
}

std::string major_minor(std::string_view version) {
  const std::size_t second = version.find('.', version.find('.') + 1);
  return std::string(version.substr(0, second));
}

/// Whether pip makes the same again: each package is locked by its SHA-256, and nothing was changed by hand after.
bool can_be_made_again(const Training& training) {
  return training.fix_ups.empty() && std::ranges::all_of(training.packages, [](const std::string& line) {
           return measure::is_locked_package(line) && (measure::has_hash(line) || measure::is_own_tool(line));
         });
}

/// Of an environment's Python: the environment, and the folder of the worker's source.
void copy_environment(const Training& training, ImageContents& contents) {
  const fs::path folder = training.program.parent_path().parent_path();
  if (can_be_made_again(training)) {
    contents.environment = folder;
    std::ranges::copy_if(training.packages, std::back_inserter(contents.packages), measure::has_hash);
  } else {
    contents.copied.push_back(folder);
  }
  if (!training.python.empty())
    contents.base = fmt::format("docker.io/library/python:{}-slim", major_minor(training.python));
  const auto worker = std::ranges::find_if(training.arguments, [](const std::string& word) {
    return word.ends_with(".py") && fs::path(word).is_absolute();
  });
  if (worker != training.arguments.end()) contents.copied.push_back(fs::path(*worker).parent_path());
}

void copy_program(const Training& training, ImageContents& contents) {
  contents.base = kPlainBase;
  contents.copied.push_back(training.program);
  std::ranges::copy(training.libraries, std::back_inserter(contents.copied));
}

/// The profile as it is where the container is around the script, and not started by it.
Profile without_container(Profile profile) {
  profile.container.reset();
  profile.configuration.erase("container");
  return profile;
}

}  // namespace

std::string printf_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool as_it_is = byte >= 0x20 && byte < 0x7F && c != '\'' && c != '\\' && c != '{' && c != '<';
    word += as_it_is ? std::string(1, c) : fmt::format("\\0{:03o}", byte);
  }
  return word + "'";
}

std::vector<std::string> writing_commands(std::string_view text, std::string_view file) {
  const std::string start = "printf '%b\\n'";
  std::vector<std::string> commands;
  std::string command = start;
  const auto flush = [&] {
    commands.push_back(fmt::format("{} \\\n    >{} {}", command, commands.empty() ? "" : ">", file));
    command = start;
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string word = printf_word(line);
    if (command.size() + word.size() > kMostOfOneCommand && command != start) flush();
    command += " \\\n    " + word;
  }
  flush();
  return commands;
}

ImageContents image_contents(const Profile& profile) {
  ImageContents contents;
  const Training& training = profile.training;
  if (program_is_inside(profile)) {
    contents.obstacle =
        fmt::format("the program is of the image {} itself: deploy that image", profile.container->image);
    return contents;
  }
  if (has_own_command(profile))
    contents.copied.emplace_back(training.own_command.value("folder", "."));
  else if (!training.packages.empty())
    copy_environment(training, contents);
  else
    copy_program(training, contents);
  std::ranges::copy(profile.launch.preload, std::back_inserter(contents.copied));
  for (fs::path& path : contents.copied) path = path.lexically_normal();
  std::ranges::sort(contents.copied);
  contents.copied.erase(std::ranges::unique(contents.copied).begin(), contents.copied.end());

  std::vector<fs::path> named = contents.copied;
  if (!contents.environment.empty()) named.push_back(contents.environment);
  if (const auto odd = std::ranges::find_if_not(named, is_copyable); odd != named.end()) {
    return {.obstacle = fmt::format("the path {} has characters that builders of images read as patterns or variables: "
                                    "move what it names, and export again",
                                    odd->string())};
  }
  contents.script = export_sh(without_container(profile));
  return contents;
}

std::vector<std::string> build_commands(const ImageContents& contents) {
  if (!contents.obstacle.empty()) return {fmt::format("printf '%b\\n' {} >&2; exit 1", printf_word(contents.obstacle))};
  std::vector<std::string> commands = {"mkdir -p /opt/nocturne"};
  std::ranges::move(writing_commands(contents.script, kScriptInside), std::back_inserter(commands));
  if (contents.environment.empty()) return commands;
  std::string lock;
  for (const std::string& line : contents.packages) lock += line + "\n";
  const std::string folder = shell_quote(contents.environment.string());
  std::ranges::move(writing_commands(lock, "/opt/nocturne/packages.txt"), std::back_inserter(commands));
  commands.push_back("python3 -m venv " + folder);
  commands.push_back(folder +
                     "/bin/python -m pip install --no-cache-dir --no-deps --require-hashes --requirement "
                     "/opt/nocturne/packages.txt");
  return commands;
}

std::string image_name(const Profile& profile) {
  // As registries have it: runs of separators are refused, and upper case.
  std::string name = "nocturne-";
  for (const char c : file_stem(profile.campaign)) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool separator = lower == '-' || lower == '_' || lower == '.';
    if (!separator || name.back() != '-') name += separator ? '-' : lower;
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

namespace {

std::string comments_of(const Profile& profile, const ImageContents& contents) {
  const std::string what =
      has_own_command(profile)
          ? "Starts the command"
          : fmt::format("Trains {} on {}", comment_text(profile.workload.network), comment_text(profile.workload.data));
  std::string text =
      fmt::format("# {} as measured in campaign {}, trial {}.\n", what, comment_text(profile.campaign), profile.trial);
  text += proof_comments(profile, "This configuration");
  if (!contents.obstacle.empty()) return text + "# No image: " + comment_text(contents.obstacle) + ".\n";
  if (profile.container) {
    text += fmt::format("# Measured in the image {} ({}): take that one for base, where you can.\n",
                        comment_text(profile.container->image), comment_text(profile.container->digest));
  } else {
    text += "# Measured outside of a container. 'nocturne verify' with the image for base says what that costs.\n";
  }
  if (contents.base.empty())
    text += "# The base image is yours to name: it has what the command imports and is linked with.\n";
  else
    text += "# Pin the base image by its digest; its C library is at least as new as this machine's.\n";
  if (!contents.environment.empty())
    text += "# Its packages are locked by SHA-256: another file under the same name is refused.\n";
  return text;
}

}  // namespace

std::string without_templates(std::string text) {
  std::ranges::replace(text, '{', '?');
  return text;
}

std::string image_comments(const Profile& profile, const ImageContents& contents) {
  return without_templates(comments_of(profile, contents));
}

}  // namespace nocturne::deploy
