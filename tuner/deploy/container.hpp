#pragma once

/// The container of a profile: what a run in it was measured in, and the same again for `apply` and for scripts. The
/// runtime's command is composed where runs are composed that are measured (tuner/executor/containment.hpp).

#include <expected>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/deploy/apply.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/executor/containment.hpp"

namespace nocturne::deploy {

/// What the profile keeps of the place in which a configuration was measured. `version`: the runtime's.
[[nodiscard]] ProfileContainer container_of_place(const tuner::ContainerPlace& contained, std::string version);

/// The program is the image's own, so that nothing of it is on the host.
[[nodiscard]] bool program_is_inside(const Profile& profile);

/// Why the place is not the one that was measured, a sentence: no such runtime, it cannot run here, the image is not
/// there, it is another one. Empty: it is. Starts the runtime's programs.
[[nodiscard]] std::string obstacle_of(const ProfileContainer& container);

/// Puts a plan inside: the whole of its working folder is handed over to be written, and `written` where it is not
/// empty, `read` to be read. Objections and warnings are added to the plan's.
void put_inside(const ProfileContainer& container, const std::vector<std::filesystem::path>& read, ApplyPlan& plan,
                const std::filesystem::path& written = {});

/// Lines of a POSIX script that become the worker inside, in which $output and $data name folders, and `fail SENTENCE
/// STATUS` ends it: the checks, the places for mounts, the variables, the command. Pure but for what the runtime needs
/// on this machine (measure::PodmanHost).
[[nodiscard]] std::expected<std::string, std::string> contained_lines(const Profile& profile);

}  // namespace nocturne::deploy
