#pragma once

/// Ways to write a profile down. One file each in deploy/exporters, one line each in the list in exporter.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

struct Exporter {
  std::string_view name;                          ///< as `--format` takes it
  std::string_view extension;                     ///< extension of the file, without the dot
  std::string_view summary;                       ///< one line
  bool executable = false;                        ///< the file gets permission to execute
  std::string (*text)(const Profile&) = nullptr;  ///< a pure function of the profile
};

/// All there are.
[[nodiscard]] const std::vector<Exporter>& exporters();
/// Null: none of this name.
[[nodiscard]] const Exporter* find_exporter(std::string_view name);

/// The profile itself (exporters/json.cpp).
[[nodiscard]] std::string export_json(const Profile& profile);
/// KEY=VALUE lines for `set -a; . FILE` and for systemd's EnvironmentFile (exporters/env.cpp).
[[nodiscard]] std::string export_env(const Profile& profile);
/// The lines that do the same in the user's own script, and around it (exporters/changes.cpp).
[[nodiscard]] std::string export_changes(const Profile& profile);
/// A POSIX shell script that trains exactly as measured (exporters/sh.cpp).
[[nodiscard]] std::string export_sh(const Profile& profile);
/// The same with directives in front that ask for what was measured (exporters/slurm.cpp, exporters/torque.cpp).
[[nodiscard]] std::string export_slurm(const Profile& profile);
[[nodiscard]] std::string export_torque(const Profile& profile);
/// Images, and what starts them (image_contents.hpp).
[[nodiscard]] std::string export_dockerfile(const Profile& profile);
[[nodiscard]] std::string export_charliecloud(const Profile& profile);
[[nodiscard]] std::string export_apptainer(const Profile& profile);
[[nodiscard]] std::string export_shifter(const Profile& profile);

}  // namespace nocturne::deploy
