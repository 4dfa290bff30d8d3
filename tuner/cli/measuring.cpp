#include "tuner/cli/measuring.hpp"

#include "measure/runner.hpp"
#include "tuner/campaign/search_options.hpp"

namespace nocturne::cli {

std::string missing_supervisor() {
  if (!measure::find_supervisor().empty()) return {};
  return "the program nocturne-supervisor is not beside nocturne: build it, or name it in NOCTURNE_SUPERVISOR_PROGRAM";
}

tuner::LocalExecutor::Options executor_options(const Context& context, const tuner::Installation& installation,
                                               const measure::MachineFacts& machine) {
  return {.installation = installation,
          .builds_folder = context.builds_folder(),
          .runs_folder = context.runs_folder(),
          .memory_bytes = tuner::usual_memory_limit(machine.usable_memory_bytes())};
}

}  // namespace nocturne::cli
