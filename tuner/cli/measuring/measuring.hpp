#pragma once

/// What every subcommand that starts workers needs.

#include <memory>
#include <string>

#include "measure/machine/machine.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {

/// Why no worker can be supervised here, and what to do, in a sentence without a full stop; empty: one can.
[[nodiscard]] std::string missing_supervisor();

/// What `framework` can name: our own workers, the shipped recipes, the user's.
[[nodiscard]] std::shared_ptr<const tuner::Frameworks> frameworks_here(const Context& context,
                                                                       const tuner::Installation& installation);

/// The folders of `context`, and the memory that a run may take unless its campaign says otherwise.
[[nodiscard]] tuner::LocalExecutor::Options executor_options(const Context& context,
                                                             const tuner::Installation& installation,
                                                             const measure::MachineFacts& machine,
                                                             std::shared_ptr<const tuner::Frameworks> frameworks);

}  // namespace nocturne::cli
