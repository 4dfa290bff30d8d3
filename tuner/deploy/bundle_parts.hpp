#pragma once

/// What pack_bundle() and open_bundle() share: places that stand for this machine's, and a folder for the moment.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::deploy {

inline constexpr int kBundleVersion = 1;
inline constexpr std::string_view kEnvironmentPlace = "/nocturne-bundle/environment";
inline constexpr std::string_view kWorkersPlace = "/nocturne-bundle/workers";
inline constexpr std::string_view kBuildPlace = "/nocturne-bundle/build";
inline constexpr std::string_view kDataPlace = "/nocturne-bundle/data";

/// From → to, in this order.
using Moves = std::vector<std::pair<std::string, std::string>>;
/// The document with each path that begins so, in any text of it, moved. A path ends where its name does: /a/b is not
/// found in /a/bc.
[[nodiscard]] nlohmann::json moved(const nlohmann::json& document, const Moves& moves);

/// Removed with all in it.
class BundleFolder {
 public:
  /// Throws std::filesystem::filesystem_error.
  explicit BundleFolder(const std::filesystem::path& in);
  BundleFolder(const BundleFolder&) = delete;
  BundleFolder& operator=(const BundleFolder&) = delete;
  ~BundleFolder();
  /// What is packed or was unpacked.
  [[nodiscard]] std::filesystem::path content() const { return path_ / "content"; }
  /// For the programs that do it.
  [[nodiscard]] std::filesystem::path work() const { return path_ / "work"; }

 private:
  std::filesystem::path path_;
};

/// Libraries in the lines of `ldd`, with their paths.
[[nodiscard]] std::vector<std::filesystem::path> linked_libraries(std::string_view ldd);
/// Those of them that lie elsewhere than in the system's folders.
[[nodiscard]] std::vector<std::filesystem::path> own_libraries(std::string_view ldd);

/// A document in the content; null where it is none.
[[nodiscard]] nlohmann::json read_part(const std::filesystem::path& file);

}  // namespace nocturne::deploy
