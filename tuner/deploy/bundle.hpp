#pragma once

/// A profile and what it runs, in one file for a node without a network: `nocturne env export --bundle`.
///
/// An archive (measure/environment/archive.hpp: checksums of every file, nothing else accepted) of
///
///   bundle.json                 {"nocturne_bundle": 1, "environments": [{"recipe", "key", "abi", "packages"}],
///                                "build": {"key", "name"}}; build: absent where there is none
///   profile.json                with the places below instead of this machine's; absent: environments alone
///   recipes/NAME.json           as they are here
///   packages/NAME/…             wheels, packages of the distribution, or a built library
///   build/…                     the folder of the build, and libraries/: what it is linked with beside the system's
///
/// No path of this machine is in it: in the profile `/nocturne-bundle/environment` stands for the environment's folder,
/// and so on; whoever opens it fills in their own.

#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/deploy/make_missing.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::deploy {

inline constexpr std::string_view kBundleExtension = ".nocturne";

struct BundlePlaces {
  const tuner::Frameworks& frameworks;
  tuner::Installation installation;
  std::filesystem::path builds_folder;
  std::filesystem::path profiles_folder;
  std::filesystem::path recipes_folder;  ///< the user's own, for recipes that this machine does not have
  std::filesystem::path temporary;       ///< on the disk of the data folder; a folder in it is made and removed
  std::function<void(std::string_view)> progress;  ///< may be empty
};

struct Bundle {
  std::filesystem::path file;
  std::string id;  ///< SHA-256 over what it lists
  std::vector<std::string> environments;
  std::string build;                  ///< key, or empty
  std::filesystem::path profile;      ///< where it was written to; empty: it has none, or it was packed
  std::vector<std::string> warnings;  ///< sentences
};

/// Packs the environments of these recipes, which are installed, and the profile's own parts. `output`: a file, or a
/// folder in which it is called NAME-<12 digits of its id>.nocturne.
[[nodiscard]] std::expected<Bundle, MakingFailure> pack_bundle(const std::vector<std::string>& recipes,
                                                               const std::optional<Profile>& profile,
                                                               const std::filesystem::path& output,
                                                               const BundlePlaces& places,
                                                               const std::stop_token& stop = {});

/// Installs all that is in it, without a network, and writes its profile into the profiles folder.
[[nodiscard]] std::expected<Bundle, MakingFailure> open_bundle(const std::filesystem::path& file,
                                                               const BundlePlaces& places,
                                                               const std::stop_token& stop = {});

}  // namespace nocturne::deploy
