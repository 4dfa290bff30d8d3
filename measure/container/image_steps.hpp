#pragma once

/// The programs that make an image, run one after the other. Used by the image store alone.

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/image_store.hpp"

namespace nocturne::measure {

// What runtimes and debootstrap print when an image cannot be made, into what is to be done about it.

struct ImageError {
  std::string_view remedy;   ///< a half sentence for behind what was said; empty: the words are not known
  bool unreachable = false;  ///< the network was gone, or nobody answered
};
[[nodiscard]] ImageError image_error(std::string_view output);

struct ImageSession {
  std::filesystem::path log;  ///< what the programs print is appended
  const ImageOptions& options;
  std::stop_token stop;
  std::chrono::steady_clock::time_point end;

  /// Fills folder/root where the recipe can be made without a runtime; returns the digest, empty where only a runtime
  /// can tell it.
  [[nodiscard]] std::expected<std::string, ImageFailure> make_root(const ImageRecipe& recipe,
                                                                   const std::filesystem::path& folder);
  /// Packs a root file system and hands it to the runtime; the id in its storage.
  [[nodiscard]] std::expected<std::string, ImageFailure> import_root(const std::filesystem::path& root,
                                                                     const ContainerRuntime& runtime,
                                                                     const std::filesystem::path& folder,
                                                                     const std::string& name);
  /// Pulls or builds; the id in its storage, empty for a runtime that runs folders.
  [[nodiscard]] std::expected<std::string, ImageFailure> acquire(const ImageRecipe& recipe,
                                                                 const ContainerRuntime& runtime,
                                                                 const std::filesystem::path& folder,
                                                                 const std::string& name);
  /// Empty: it is not in the runtime's storage.
  [[nodiscard]] std::optional<std::string> identify(const ContainerRuntime& runtime, const std::string& image);

 private:
  std::expected<void, ImageFailure> step(const std::vector<std::string>& argv, const std::string& what);
};

}  // namespace nocturne::measure
