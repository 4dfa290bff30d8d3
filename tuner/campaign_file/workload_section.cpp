#include "tuner/campaign_file/workload_section.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "kernels/networks/network.hpp"
#include "measure/gate/gate.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kSection = "/workload";

bool has_table(std::string_view name) {
  const std::vector<std::string_view> names = networks::network_names();
  return std::ranges::find(names, name) != names.end();
}

/// The table that our own workers read. Null: they have none of this name.
const networks::Network* find_table(std::string_view name) {
  return has_table(name) ? &networks::find_network(name) : nullptr;
}

/// Reads synthetic images or a folder of them, not MNIST's files.
bool reads_images(const networks::Network& network) {
  return network.data != "mnist";
}

template <typename T>
void take_key(const Checks& checks, std::string_view key, T& target) {
  if (const Json* value = checks.get(kSection, key)) target = value->get<T>();
}

bool is_named(const Checks& checks, std::string_view key) {
  return checks.get(kSection, key) != nullptr;
}

/// The key itself where it is written, else the section.
std::string where(const Checks& checks, std::string_view key) {
  return is_named(checks, key) ? pointer_to(kSection, key) : std::string(kSection);
}

void check_network(Checks& checks, const space::Workload& workload) {
  const networks::Network* known = find_table(workload.network);
  if (known == nullptr) return;
  const bool images = reads_images(*known);
  const bool fits = images ? workload.data == "folder" || workload.is_synthetic() : workload.data != "folder";
  if (!fits) {
    checks.add(where(checks, "data"), fmt::format("data '{}' for network {}", workload.data, known->name),
               fmt::format("{}: it reads images of {} × {} × {}", images ? "synthetic, folder" : "mnist, synthetic",
                           known->image.channels, known->image.height, known->image.width));
  }
  if (images && workload.optimizer != known->optimizer) {
    checks.add(where(checks, "optimizer"),
               fmt::format("optimizer '{}' for network {}", workload.optimizer, known->name),
               std::string(known->optimizer));
  }
}

void check_folder(Checks& checks, const fs::path& home, space::Workload& workload) {
  const std::string pointer = pointer_to(kSection, "data_folder");
  if (workload.data != "folder") {
    for (const char* key : {"data_folder", "skip_broken"}) {
      if (!is_named(checks, key)) continue;
      checks.add(pointer_to(kSection, key), fmt::format("'{}' with data '{}'", key, workload.data),
                 "it belongs to data 'folder', a folder of images", {}, At::Key);
    }
    workload.data_folder.clear();
    return;
  }
  if (workload.data_folder.empty()) {
    checks.add(kSection, "key 'data_folder' is missing",
               "the folder of images: FOLDER/CLASS/NAME.jpg, or FOLDER/train and FOLDER/val");
    return;
  }
  fs::path folder = fs::absolute(home / workload.data_folder).lexically_normal();
  if (folder.filename().empty() && folder.has_relative_path()) folder = folder.parent_path();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    checks.add(pointer, "there is no folder " + folder.string(), "a folder of images, one folder in it for each class");
  workload.data_folder = folder.string();
}

void check_optimizer(Checks& checks, const space::Workload& workload) {
  if (workload.optimizer == "sgd_momentum") return;
  for (const char* key : {"learning_rate", "momentum", "weight_decay"}) {
    if (!is_named(checks, key)) continue;
    checks.add(pointer_to(kSection, key), fmt::format("'{}' with optimizer '{}'", key, workload.optimizer),
               "it belongs to optimizer 'sgd_momentum'", {}, At::Key);
  }
}

}  // namespace

space::Workload read_workload(Checks& checks, const fs::path& home, bool ours) {
  space::Workload workload;
  take_key(checks, "network", workload.network);
  take_key(checks, "data", workload.data);
  take_key(checks, "optimizer", workload.optimizer);
  take_key(checks, "data_folder", workload.data_folder);
  take_key(checks, "skip_broken", workload.skip_broken);
  take_key(checks, "learning_rate", workload.learning_rate);
  take_key(checks, "momentum", workload.momentum);
  take_key(checks, "weight_decay", workload.weight_decay);
  take_key(checks, "label_smoothing", workload.label_smoothing);
  if (!checks.sound(kSection)) return workload;
  if (is_named(checks, "training_examples")) {
    take_key(checks, "training_examples", workload.training_examples);
  } else if (workload.data != space::Workload{}.data) {
    checks.add(kSection, "key 'training_examples' is missing",
               fmt::format("the number of examples in one epoch of '{}'", workload.data));
  }
  check_folder(checks, home, workload);
  check_optimizer(checks, workload);
  if (ours) check_network(checks, workload);
  return workload;
}

void fit_to_workload(Checks& checks, const space::Workload& workload, VerifySettings& verify) {
  if (const networks::Network* known = find_table(workload.network); known != nullptr && reads_images(*known)) {
    // These normalise.
    verify.gate.steps = std::min(verify.gate.steps, measure::kMostNormalisedGateSteps);
  }
  if (workload.is_synthetic()) {
    const auto refuse = [&](std::string_view section, const char* key, std::int64_t found) {
      if (checks.get(section, key) == nullptr || found == 0) return;
      checks.add(pointer_to(section, key), fmt::format("found {}", found),
                 "0: synthetic images teach nothing and there are none to test with");
    };
    refuse("/verify", "accuracy_epochs", verify.accuracy_epochs);
    refuse("/verify/gate", "seeds", verify.gate.seeds.value_or(0));
    verify.accuracy_epochs = 0;
    verify.gate.seeds = 0;
  } else if (workload.data == "folder" && checks.get("/verify", "accuracy_epochs") == nullptr) {
    verify.accuracy_epochs = 0;
  }
}

}  // namespace nocturne::tuner
