// From the plan of a run on the host to the plan of the same run in a container.

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "measure/container/image_store.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tuner/executor/containment.hpp"

namespace nocturne::tuner {
namespace {

std::string name_of_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "nobody";
}

}  // namespace

std::expected<measure::RunPlan, std::string> contained_plan(measure::RunPlan plan, const Contained& contained) {
  measure::ContainerOrder order;
  order.run_id = plan.id;
  order.owner = measure::ProcessIdentity::of_this_process().to_text();
  order.argv = plan.argv;
  order.mounts = contained.mounts;
  order.mounts.push_back({.path = plan.folder, .writable = true});
  // Weights and batches to begin with, that another run wrote into its folder.
  if (plan.request.initial) {
    order.mounts.push_back({.path = std::filesystem::path(*plan.request.initial).parent_path(), .writable = false});
  }
  order.mounts = measure::least_mounts(std::move(order.mounts));
  if (!contained.runtime->makes_mount_points() && !contained.image.root.empty()) {
    if (auto made = measure::make_mount_points(contained.image.root, order.mounts); !made) {
      return std::unexpected(std::move(made.error()));
    }
  }
  order.variables = plan.environment;
  // Its home outside is not there; what frameworks keep in it belongs to the run.
  order.variables.emplace("HOME", plan.folder.string());
  order.cpus = plan.cpus;
  order.folder = plan.folder;
  order.memory_limit_bytes = plan.memory_limit_bytes.value_or(0);
  order.user = name_of_user();
  order.uid = ::geteuid();
  order.gid = ::getegid();
  auto command = contained.runtime->command(contained.image, order);
  if (!command) return std::unexpected(std::move(command.error()));
  plan.argv = std::move(command->argv);
  plan.environment = std::move(command->variables);
  plan.apart = command->apart;
  plan.clean_up = std::move(command->clean_up);
  // The caller's own would be loaded into the runtime's programs.
  if (std::ranges::find(plan.unset, "LD_PRELOAD") == plan.unset.end()) plan.unset.emplace_back("LD_PRELOAD");
  return plan;
}

}  // namespace nocturne::tuner
