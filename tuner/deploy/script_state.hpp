#pragma once

/// What a profile of the user's own command knows of the files that were measured, and whether they are still those.

#include <string>
#include <vector>

#include "space/run.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// Notes the files that the command is made of with their digests (none of what was edited after the run began), and
/// the versions that the run named. REQUIRES: has_own_command(profile).
void note_sources(const space::Run& run, Profile& profile);

/// What is another than was measured, a clause each: its files, versions of Python and of what it imports. Starts the
/// command's Python where it is one, for as long as it takes to look up versions.
[[nodiscard]] std::vector<std::string> changes_since(const Profile& profile);

}  // namespace nocturne::deploy
