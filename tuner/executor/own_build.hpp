#pragma once

/// Our own workers, built from source or with Nocturne: the part of it that tuning and deployment share.

#include <expected>
#include <filesystem>
#include <stop_token>

#include "measure/artifact/artifact.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::tuner {

/// Finds or builds. `onednn_prefix`: of the library it is linked with; empty: the system's. Outcomes: BuildFailed,
/// Killed (the stop).
[[nodiscard]] std::expected<measure::Artifact, PreparationFailure> obtain_build(
    const WorkerRecipe& worker, const measure::BuildFlags& flags, const std::filesystem::path& onednn_prefix,
    const Installation& installation, measure::ArtifactStore& builds, int jobs, const std::stop_token& stop);

/// A worker that is built with Nocturne (own_workers.hpp): completes what every worker has. The identity is the
/// program's content.
[[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_shipped(const WorkerRecipe& worker,
                                                                                PreparedWorker prepared);

}  // namespace nocturne::tuner
