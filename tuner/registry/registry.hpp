#pragma once

/// Everything that is registered: files that are shipped, and the user's own, which take precedence by their names.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/registry/fragment.hpp"
#include "tuner/registry/image.hpp"
#include "tuner/registry/infrastructure.hpp"

namespace nocturne::tuner {

/// A value; sorted by name.
struct Registry {
  std::vector<Infrastructure> infrastructures;
  std::vector<Fragment> fragments;
  std::vector<Image> images;
  std::vector<std::string> problems;  ///< files that are left out, with what is wrong

  /// Each of `roots` has folders infrastructures, fragments and images; the first one's files take precedence. What is
  /// not there counts as empty. A file in images/ that has a key `kind` is a recipe (measure/container), and no image
  /// of this registry.
  [[nodiscard]] static Registry load(const std::vector<std::filesystem::path>& roots);

  /// The error is a sentence with the nearest name, or says that it is disabled.
  [[nodiscard]] std::expected<const Infrastructure*, std::string> infrastructure(std::string_view name) const;
};

}  // namespace nocturne::tuner
