#pragma once

/// What a profile of the user's own command knows of the script that was measured, and whether it is still that one.

#include <string>
#include <vector>

#include "space/run.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// Notes the script's file and digest (none where it was edited after the run began), and the versions that the run
/// named. REQUIRES: has_own_command(profile).
void note_script(const space::Run& run, Profile& profile);

/// What is another than was measured, a clause each: the script, versions of Python and of what it imports. Starts the
/// command's Python where it is one, for as long as it takes to look up versions.
[[nodiscard]] std::vector<std::string> changes_since(const Profile& profile);

}  // namespace nocturne::deploy
