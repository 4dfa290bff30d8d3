#pragma once

/// Which folders of the host a worker must see in a container. Used by containment.cpp.

#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/container/container.hpp"

namespace nocturne::tuner {

class ContainedPaths {
 public:
  explicit ContainedPaths(const measure::ContainerImage& image) : image_(image) {}

  /// With the path that its symbolic links lead to; one that does not exist is left out, and so is an empty one.
  void add(const std::filesystem::path& path, bool writable = false);
  /// What absolute words of a command name. The error: a program of the system that the image does not have.
  [[nodiscard]] std::expected<void, std::string> add_command(const std::vector<std::string>& argv);
  /// A library to preload: the image's own of the same path, else the host's.
  [[nodiscard]] std::expected<void, std::string> add_library(const std::filesystem::path& library,
                                                             const measure::ContainerRuntime& runtime);
  [[nodiscard]] std::vector<measure::ContainerMount> mounts() const { return measure::least_mounts(mounts_); }

 private:
  [[nodiscard]] std::expected<void, std::string> add_program_folder(const std::filesystem::path& path);
  /// True where nothing is known of what is in the image.
  [[nodiscard]] bool may_be_inside(const std::filesystem::path& path) const;

  const measure::ContainerImage& image_;
  std::vector<measure::ContainerMount> mounts_;
};

}  // namespace nocturne::tuner
