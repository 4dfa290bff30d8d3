#pragma once

/// What must be made before the job runs: the image fetched, packages installed, the request's own source built.

#include <string>

#include "tuner/request/deployment.hpp"

namespace nocturne::tuner {

/// A POSIX script; empty: nothing is to be made. The source is cloned where its address ends in ".git", else
/// downloaded, certificates checked; its command runs as one process inside the container.
[[nodiscard]] std::string build_script(const Deployment& deployment);

/// A definition for Apptainer of the image that was chosen, with the request's own build in it; empty: there is no
/// image on a hub. Of what was measured the profile has one (tuner/deploy).
[[nodiscard]] std::string definition_file(const Deployment& deployment);

}  // namespace nocturne::tuner
