#pragma once

/// What a job is made of, once it was chosen what answers its request.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/deploy/profile.hpp"
#include "tuner/request/choose.hpp"
#include "tuner/request/parallelism.hpp"

namespace nocturne::tuner {

/// A value type. With a profile the job trains as measured; else it runs the request's own command, in the container
/// if there is one.
struct Deployment {
  JobRequest request;
  std::optional<deploy::Profile> profile;
  std::optional<Offer> offer;
  std::string container;          ///< "docker://…", or a path; empty: the host
  std::string runtime;            ///< that starts it; empty: apptainer or singularity, whichever is there
  bool gpu = false;               ///< it is handed in
  std::int64_t accelerators = 1;  ///< a node, where the request names none itself
  Parallelism parallelism;
  std::optional<std::pair<std::string, std::string>> storage;  ///< location and class that is preferred
  std::vector<Fragment> fragments;
  std::vector<std::string> notes;  ///< what was decided, or not followed, and why
};

/// REQUIRES: something was chosen, or the request itself says what runs. The error is a sentence.
[[nodiscard]] std::expected<Deployment, std::string> deployment_of(const JobRequest& request, const Choice& choice,
                                                                   std::optional<deploy::Profile> profile,
                                                                   const Registry& registry,
                                                                   const std::optional<FittedScaling>& fitted = {});

/// Whether the request can be answered though nothing was chosen: it brings its container, or asks for nothing that an
/// image would have to have.
[[nodiscard]] bool says_what_runs(const JobRequest& request);

/// The folder of the preferred location where it is one of this file system; else its URL. Empty: none is known.
[[nodiscard]] std::string storage_place(const Deployment& deployment);

/// "docker://me/solver:2" → "me/solver:2".
[[nodiscard]] std::string without_hub(const std::string& container);

/// Words that start `words` in the container, in a shell in which $image names it; $PWD and the data folder are seen.
/// `words` as they are without a container.
[[nodiscard]] std::string contained_command(const Deployment& deployment, const std::string& words);

/// Lines that set $image, and $runtime where that is open; none without a container.
[[nodiscard]] std::string container_lines(const Deployment& deployment);

}  // namespace nocturne::tuner
