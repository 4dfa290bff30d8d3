#pragma once

/// What a container's image is made of: one JSON file a recipe. Shipped ones lie in measure/container/images/, a user's
/// own in images/ of the configuration folder and take precedence; the file's name without .json is the recipe's.
///
///   {"image": "debian-12", "title": "Debian 12, minimal", "kind": "debootstrap",
///    "suite": "bookworm", "packages": ["python3-minimal", "libgomp1"], "mirror": "…",   (mirror: Debian's own if
///    absent) "disk_mb": 270, "note": "…", "labels": {"application": "debian", "version": "12"}}
///   {"image": "…", "kind": "reference", "reference": "registry.example/team/trainer@sha256:<64 digits>"}
///   {"image": "…", "kind": "file", "file": "trainer.Dockerfile"}        beside the recipe; *.def for Apptainer
///   {"image": "…", "kind": "folder", "folder": "/srv/images/trainer"}   a root file system that is there already
///
/// A reference without a digest is refused: what a tag names tomorrow would not be what was measured.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::measure {

enum class ImageKind { Debootstrap, Reference, File, Folder };

struct ImageRecipe {
  std::string name;
  std::string title;
  ImageKind kind = ImageKind::Debootstrap;
  std::string suite;                  ///< Debian suite: "bookworm"
  std::vector<std::string> packages;  ///< packages beside those of the variant minbase
  std::string mirror;                 ///< empty: debootstrap's own default
  std::string reference;
  std::filesystem::path file;    ///< absolute
  std::filesystem::path folder;  ///< absolute
  std::int64_t disk_mb = 0;
  std::string note;
  nlohmann::json labels = nlohmann::json::object();  ///< what requests ask for (tuner/registry); may be empty
};

/// Everything that decides what comes out, as text: enters the image's key. Reads the file of kind `file`.
[[nodiscard]] std::string identity_of(const ImageRecipe& recipe);

/// `beside`: the folder that relative files are in. The error is a sentence that names the key.
[[nodiscard]] std::expected<ImageRecipe, std::string> image_recipe_from_json(const nlohmann::json& document,
                                                                             const std::filesystem::path& beside);
[[nodiscard]] std::expected<ImageRecipe, std::string> load_image_recipe(const std::filesystem::path& file);

/// Why it cannot be made here, as far as that can be told without trying; empty: nothing is known against it.
[[nodiscard]] std::string obstacle_of(const ImageRecipe& recipe);

/// All that can be read, by name; of two of one name the first folder's. What cannot is passed over.
[[nodiscard]] std::vector<ImageRecipe> known_images(const std::vector<std::filesystem::path>& folders);

/// Letters, digits, '-', '_' and '.', the first a letter or digit, at most 64: no option, no path.
[[nodiscard]] bool is_image_name(std::string_view name);

/// The recipe NAME.json of the first folder that has it; the error lists the known names.
[[nodiscard]] std::expected<ImageRecipe, std::string> find_image_recipe(
    const std::string& name, const std::vector<std::filesystem::path>& folders);

}  // namespace nocturne::measure
