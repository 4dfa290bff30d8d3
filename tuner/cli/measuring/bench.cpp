#include "tuner/cli/measuring/bench.hpp"

#include <ostream>

#include "measure/machine/fingerprint.hpp"
#include "tuner/cli/measuring/measuring.hpp"

namespace nocturne::cli {

Bench::Bench(const Context& context, const tuner::CampaignSpec& spec, db::Store& store,
             const measure::MachineFacts& machine, const tuner::Installation& installation)
    : spec_(spec),
      store_(store),
      fingerprint_(measure::fingerprint_of(machine)),
      executor_(spec, executor_options(context, installation, machine, frameworks_here(context, installation))),
      display_(context),
      signals_(interruption_, {.say = [&context](const std::string& sentence) {
                 *context.err << '\n' + sentence + '\n' << std::flush;
               }}) {}

tuner::Sitting Bench::sitting() {
  return {.spec = spec_,
          .store = store_,
          .executor = executor_,
          .observer = display_,
          .clock = clock_,
          .interruption = interruption_,
          .fingerprint_now = {},
          .fingerprint = fingerprint_};
}

db::Expected<tuner::SideBySideResult> Bench::measure(std::span<const space::Configuration> sides,
                                                     const tuner::SideBySideSettings& settings) {
  tuner::Sitting present = sitting();
  auto result = tuner::SideBySide(present).run(sides, settings);
  display_.clear();
  return result;
}

db::Expected<tuner::WholeEpochsResult> Bench::train(const space::Configuration& configuration,
                                                    const tuner::WholeEpochsSettings& settings) {
  tuner::Sitting present = sitting();
  auto result = tuner::train_whole_epochs(present, configuration, settings);
  display_.clear();
  return result;
}

ExitCode Bench::interruption_code() const {
  return signals_.interruption_code();
}

}  // namespace nocturne::cli
