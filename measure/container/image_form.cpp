#include "measure/container/image_form.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/container/image_store.hpp"
#include "measure/container/runtimes.hpp"

namespace nocturne::measure {

namespace fs = std::filesystem;

std::vector<std::string> available_image_forms() {
  std::vector<std::string> names = {std::string(kFolderForm)};
  for (const ContainerRuntime* runtime : container_runtimes()) {
    if (runtime->forms().empty() || !runtime->obstacle().empty()) continue;
    for (const ImageForm& form : runtime->forms())
      if (runtime->form_obstacle(form.name).empty()) names.emplace_back(form.name);
  }
  return names;
}

std::expected<void, std::string> take_form(const ContainerRuntime& runtime, std::string_view form,
                                           const fs::path& folder, ContainerImage& image) {
  if (form == kFolderForm) return {};
  const auto forms = runtime.forms();
  const auto found = std::ranges::find(forms, form, &ImageForm::name);
  if (found == forms.end()) {
    std::vector<std::string_view> names = {kFolderForm};
    for (const ImageForm& each : forms) names.push_back(each.name);
    return std::unexpected(
        fmt::format("{} has no image of the form '{}'; it has {}", runtime.name(), form, fmt::join(names, ", ")));
  }
  if (std::string obstacle = runtime.form_obstacle(form); !obstacle.empty())
    return std::unexpected(fmt::format("image form {}: {}", form, obstacle));
  image.form = form;
  image.file = folder / fmt::format("{}.{}", image.root.filename().string(), found->extension);
  return {};
}

std::expected<void, std::string> shape_image(const ContainerImage& image, const ContainerRuntime& runtime,
                                             const std::vector<ContainerMount>& mounts) {
  bool grown = false;
  if (!runtime.makes_mount_points() && !image.root.empty()) {
    std::vector<ContainerMount> missing = mounts;
    // Of a file it would have to be made anew for each run in the folder that is inside already.
    if (!image.file.empty())
      std::erase_if(missing, [&](const auto& mount) { return lies_in(mount.path, runtime.shared_folder()); });
    auto made = make_mount_points(image.root, missing);
    if (!made) return std::unexpected(std::move(made.error()));
    grown = *made;
  }
  std::error_code error;
  if (image.file.empty() || (!grown && fs::exists(image.file, error))) return {};
  // Beside, for one that runs has the old file open.
  const fs::path beside = image.file.string() + fmt::format(".{}", ::getpid());
  fs::remove(beside, error);
  const auto made = ask_tool(runtime.form_command(image.root, beside), std::chrono::minutes(30));
  if (made) fs::rename(beside, image.file, error);
  if (made && !error) return {};
  const std::string reason = made ? error.message() : made.error();
  fs::remove(beside, error);
  return std::unexpected(
      fmt::format("the image {} cannot be made of {}: {}", image.file.string(), image.root.string(), reason));
}

}  // namespace nocturne::measure
