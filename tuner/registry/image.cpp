#include "tuner/registry/image.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/json_field.hpp"
#include "tuner/registry/registry_file.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

Scaling scaling_from(const Json& document) {
  Scaling scaling;
  const std::string model = document["model"];
  if (model == "amdahl") scaling.model = Scaling::Model::Amdahl;
  if (model == "max") scaling.model = Scaling::Model::Max;
  space::take_field(document, "parallel_fraction", scaling.parallel_fraction);
  space::take_field(document, "most_ranks", scaling.most_ranks);
  space::take_field(document, "most_threads", scaling.most_threads);
  return scaling;
}

/// What the schema cannot say.
void check_image(Checks& checks) {
  const Json& labels = checks.root()["labels"];
  const int kinds = static_cast<int>(labels.contains("framework")) + static_cast<int>(labels.contains("application")) +
                    static_cast<int>(labels.contains("mpi_library"));
  if (kinds != 1)
    checks.add("/labels", "what it is of is not said, or twice", "one of framework, application, mpi_library");
  const bool there = checks.root().contains("container") || checks.root().contains("packages");
  if (there == checks.root().contains("missing"))
    checks.add("", "either a container or packages, or what is missing", "container, packages, missing");
  const Json* model = checks.get("/scaling", "model");
  if (model != nullptr && *model == "amdahl" && !checks.root()["scaling"].contains("parallel_fraction"))
    checks.add("/scaling", "key 'parallel_fraction' is missing", "a number from 0 to 1");
}

}  // namespace

std::expected<Image, std::vector<Problem>> read_image(std::string_view text, const std::string& file,
                                                      const std::string& stem) {
  const auto read = read_registry_file(text, file, "image", stem);
  if (!read) return std::unexpected(read.error());
  Checks checks(*read);
  check_image(checks);
  if (!checks.empty()) return std::unexpected(checks.take());
  const Json& document = read->value;
  Image image{.name = document["image"],
              .row = document.value("row", ""),
              .labels = labels_from_json(document["labels"]),
              .container = document.value("container", ""),
              .packages = document.value("packages", std::vector<std::string>{}),
              .missing = document.value("missing", ""),
              .plug_in = document.value("plug_in", ""),
              .note = document.value("note", ""),
              .from = document.value("from", "")};
  if (const std::string corrected = document.value("corrected", ""); !corrected.empty())
    image.note += (image.note.empty() ? "" : "; ") + corrected;
  if (document.contains("scaling")) image.scaling = scaling_from(document["scaling"]);
  return image;
}

std::optional<Image> image_of(const measure::ImageRecipe& recipe) {
  const auto labels = labels_of(recipe);
  if (!labels) return std::nullopt;
  Image image{.name = recipe.name, .labels = *labels, .container = recipe.folder.string(), .note = recipe.title};
  if (!recipe.reference.empty()) image.container = "docker://" + recipe.reference;
  if (image.container.empty()) {
    image.missing = "no hub has it, and it was not made here yet";
    image.plug_in = fmt::format("'nocturne deploy PROFILE --runtime charliecloud --image {}' makes it", image.name);
  }
  return image;
}

std::string singularity_file(std::string_view container) {
  if (container.starts_with('/')) return std::string(container);
  std::string name(container.substr(container.rfind('/') + 1));
  std::ranges::replace(name, ':', '_');
  return name + ".sif";
}

}  // namespace nocturne::tuner
