#pragma once

/// What an image holds that trains as a profile says: the one source of the formats dockerfile, charliecloud, apptainer
/// and shifter. Pure functions of the profile.
///
/// Files keep the paths that they have on the host, so that nothing in the script needs translation. The data set is
/// mounted at /data, the results' folder at /results.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

inline constexpr std::string_view kScriptInside = "/opt/nocturne/train.sh";
inline constexpr std::string_view kDataInside = "/data";
inline constexpr std::string_view kResultsInside = "/results";

struct ImageContents {
  std::string obstacle;                         ///< why no image can be described, a sentence; the rest is empty then
  std::string base{};                           ///< name of the base image on a hub; empty: only the user knows
  std::vector<std::filesystem::path> copied{};  ///< files and folders of the host, at the same paths inside
  std::filesystem::path environment{};          ///< folder of a virtual environment, made again there; empty: none
  std::vector<std::string> packages{};          ///< its lock, each line with its SHA-256
  std::string script{};                         ///< export_sh() as on the host: it runs inside already
};

[[nodiscard]] ImageContents image_contents(const Profile& profile);

/// A word for `printf %b` that gives `text`. It is printable ASCII without quotation marks inside, backslashes at its
/// end, `{` or `<`: what builders of images read as templates, heredocs or continued lines.
[[nodiscard]] std::string printf_word(std::string_view text);

/// Commands of a POSIX shell that write the script and make the environment. None is longer than 64 KiB: a builder
/// hands each to a shell as one argument. An obstacle becomes a command that says it and fails.
[[nodiscard]] std::vector<std::string> build_commands(const ImageContents& contents);

/// Commands that write `text` to a file.
[[nodiscard]] std::vector<std::string> writing_commands(std::string_view text, std::string_view file);

/// "nocturne-mnist-evening": lower case, as registries want it.
[[nodiscard]] std::string image_name(const Profile& profile);

/// A comment's text in which no builder finds a template: Apptainer replaces {{ NAME }} wherever it stands.
[[nodiscard]] std::string without_templates(std::string text);

/// What stands above every definition: what it is, how sure, what the base image must have.
[[nodiscard]] std::string image_comments(const Profile& profile, const ImageContents& contents);

}  // namespace nocturne::deploy
