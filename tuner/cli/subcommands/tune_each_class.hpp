#pragma once

/// `nocturne tune FILE --each-class`: a campaign on each class of nodes that a cluster has.

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/executor/slurm/job.hpp"

namespace nocturne::cli {

/// Asks idle nodes what they are, and hands in a sister of `whole` for each class, of its own name and restricted to
/// the nodes of that class; with `print` the scripts are only printed. They run one after the other, so that each
/// learns from those before it, and one program writes the database. A class that Slurm refuses is said, the others
/// are submitted all the same: Unavailable. Throws Refusal.
[[nodiscard]] ExitCode submit_each_class(const tuner::CampaignJob& whole, const Context& context, bool print);

}  // namespace nocturne::cli
