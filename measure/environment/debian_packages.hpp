#pragma once

/// Packages of the distribution, unpacked into an environment's folder: nothing of the system is changed, and no rights
/// are needed. What the system has installed is used as it is; the packages that a recipe names are always unpacked, so
/// that one BLAS stands beside another.
///
///   FOLDER/debian/usr/…   what the packages hold (their maintainer scripts are not run: no alternatives are set)

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment/install_session.hpp"

namespace nocturne::measure {

struct DebianPackage {
  std::string name;
  std::string version;  ///< includes the epoch; empty: the version that apt would take
  friend bool operator==(const DebianPackage&, const DebianPackage&) = default;
};

/// Reads what `apt-get --simulate install` prints: "Inst NAME (VERSION …)". Packages with another version in brackets
/// are installed already, in a version that serves or would have to be replaced. They are left out: the system stays.
[[nodiscard]] std::vector<DebianPackage> packages_to_install(std::string_view simulated);

/// "libtorch1.13==1.13.1+dfsg-4", ascending; the way back of a lock. Nothing that is an option or a path passes.
[[nodiscard]] std::string lock_line(const DebianPackage& package);
[[nodiscard]] std::expected<DebianPackage, std::string> package_of_lock(std::string_view line);

/// Letters, digits and "+-." as Debian's policy has them (5.6.1), the first a letter or digit.
[[nodiscard]] bool is_debian_name(std::string_view text);

/// What apt and dpkg say of a failure, in a sentence with the remedy.
[[nodiscard]] std::string explain_apt(std::string_view output);

/// Whether it says that the mirror, or the network, could not be reached: that may pass.
[[nodiscard]] bool mirror_unreachable(std::string_view output);

/// Into `folder`, which is made; those that are there whole are not downloaded again.
[[nodiscard]] std::optional<EnvironmentFailure> download_debian_packages(const InstallSession& session,
                                                                         const std::vector<DebianPackage>& packages,
                                                                         const std::filesystem::path& folder);

/// Downloads and unpacks; the lock. Two steps of progress.
[[nodiscard]] std::expected<std::vector<std::string>, EnvironmentFailure> unpack_debian_packages(
    InstallSession& session);

}  // namespace nocturne::measure
