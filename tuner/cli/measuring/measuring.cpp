#include "tuner/cli/measuring/measuring.hpp"

#include <utility>

#include "measure/run/runner.hpp"
#include "tuner/campaign/search_options.hpp"

namespace nocturne::cli {

std::string missing_supervisor() {
  if (!measure::find_supervisor().empty()) return {};
  return "the program nocturne-supervisor is not beside nocturne: build it, or name it in NOCTURNE_SUPERVISOR_PROGRAM";
}

std::shared_ptr<const tuner::Frameworks> frameworks_here(const Context& context,
                                                         const tuner::Installation& installation) {
  return std::make_shared<const tuner::Frameworks>(
      tuner::Frameworks::Places{.source_root = installation.source_root,
                                .user_recipes = context.recipes_folder(),
                                .environments = context.environments_folder()});
}

tuner::LocalExecutor::Options executor_options(const Context& context, const tuner::Installation& installation,
                                               const measure::MachineFacts& machine,
                                               std::shared_ptr<const tuner::Frameworks> frameworks) {
  return {.installation = installation,
          .builds_folder = context.builds_folder(),
          .runs_folder = context.runs_folder(),
          .database = context.database(),
          .caches_folder = context.caches_folder(),
          .images_folder = context.images_folder(),
          .user_images = context.image_recipes_folder(),
          .memory_bytes = tuner::usual_memory_limit(machine.usable_memory_bytes()),
          .frameworks = std::move(frameworks)};
}

}  // namespace nocturne::cli
