#pragma once

/// `tune` and the noise of the machine: what is stored decides how the campaign compares; on a new machine a long
/// campaign measures it first.

#include "db/store.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/interruption.hpp"

namespace nocturne::cli {

struct NoiseChoice {
  bool fresh = false;  ///< a new generation begins in any case
  bool may_measure = true;
  bool on_nodes = false;  ///< of a cluster: trials are measured alone there
};

/// --no-noise.
void add_no_noise(CLI::App& subcommand, bool& none);

/// Says in one line what the machine can tell, and what follows; `spec`, which `executor` reads, is set accordingly. A
/// campaign that has begun goes on comparing as it began. Measures up to three minutes where the machine is new, the
/// campaign begins now and will last for more than half an hour, and that is wanted; else it says how to get it. What
/// goes wrong in measuring is said, and the defaults stay. Throws db::Error. Blocks.
void settle_noise(MeasurementContext& measuring, tuner::CampaignSpec& spec, tuner::Executor& executor,
                  const NoiseChoice& choice);

}  // namespace nocturne::cli
