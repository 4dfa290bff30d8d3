#pragma once

/// The form of an image where a runtime has several: the parameter `image_form`. The folder of the root file system is
/// one; the others are files made of it.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/container.hpp"

namespace nocturne::measure {

/// Those that can be made and run here by a runtime without an obstacle, "folder" first: machine.image_forms. Starts
/// their programs.
[[nodiscard]] std::vector<std::string> available_image_forms();

/// Gives the image that form, where the runtime has it and can run it here; the file is not made yet. The error is a
/// sentence. REQUIRES: the runtime keeps no images. `folder`: where the file shall lie.
[[nodiscard]] std::expected<void, std::string> take_form(const ContainerRuntime& runtime, std::string_view form,
                                                         const std::filesystem::path& folder, ContainerImage& image);

/// Makes what a run with these mounts needs: places in the root file system where the runtime makes none itself, and
/// the file where it is missing or lacks one of them. The error is a sentence.
[[nodiscard]] std::expected<void, std::string> shape_image(const ContainerImage& image, const ContainerRuntime& runtime,
                                                           const std::vector<ContainerMount>& mounts);

}  // namespace nocturne::measure
