#include "tuner/registry/registry.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

bool is_recipe(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  return document.is_object() && document.contains("kind");
}

/// The files of one kind, read by `read`.
template <typename Thing, typename Read>
std::vector<Thing> load_things(const std::vector<fs::path>& roots, const char* folder, Read read,
                               std::vector<std::string>& problems) {
  std::map<std::string, Thing> found;
  for (const fs::path& root : roots) {
    for (const fs::directory_entry& entry : space::entries_of(root / folder)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".json") continue;
      const auto text = space::read_file(file, kLargestFileBytes + 1);
      if (!text) {
        problems.push_back(fmt::format("{}: cannot be read", file.string()));
        continue;
      }
      if (is_recipe(*text)) continue;
      auto thing = read(*text, file.string(), file.stem().string());
      if (thing)
        found.try_emplace(file.stem().string(), *std::move(thing));  // the first root's stays
      else
        problems.push_back(to_text(thing.error()));
    }
  }
  std::vector<Thing> things;
  for (auto& [name, thing] : found) things.push_back(std::move(thing));
  return things;
}

}  // namespace

Registry Registry::load(const std::vector<fs::path>& roots) {
  Registry registry;
  registry.infrastructures =
      load_things<Infrastructure>(roots, "infrastructures", read_infrastructure, registry.problems);
  registry.fragments = load_things<Fragment>(roots, "fragments", read_fragment, registry.problems);
  registry.images = load_things<Image>(roots, "images", read_image, registry.problems);
  std::ranges::sort(registry.problems);
  return registry;
}

std::expected<const Infrastructure*, std::string> Registry::infrastructure(std::string_view name) const {
  const auto found = std::ranges::find(infrastructures, name, &Infrastructure::name);
  if (found != infrastructures.end() && !found->disabled) return &*found;
  if (found != infrastructures.end()) return std::unexpected(fmt::format("the infrastructure '{}' is disabled", name));
  std::vector<std::string> names;
  for (const Infrastructure& each : infrastructures)
    if (!each.disabled) names.push_back(each.name);
  return std::unexpected(fmt::format("no infrastructure '{}' is registered{}", name, space::did_you_mean(name, names)));
}

}  // namespace nocturne::tuner
