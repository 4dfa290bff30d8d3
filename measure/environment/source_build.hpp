#pragma once

/// A library from the distribution's source package, built here with flags of its own (*opt-build*) and installed into
/// the environment's folder: FOLDER/include, FOLDER/lib. Our own worker is then built against it.
///
/// The machine's sources of packages stay as they are: a list of our own, with the machine's mirror, serves apt for
/// this one package. apt checks it against the distribution's signatures.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment/install_session.hpp"

namespace nocturne::measure {

/// The first address of Debian's own archive (no security updates) in lines "ORIGIN ADDRESS" of apt-get indextargets;
/// empty: there is none.
[[nodiscard]] std::string debian_mirror(std::string_view lines);

/// "3.7.2-1" of a line "Version: 3.7.2-1" in a .dsc file's text; empty: it has none.
[[nodiscard]] std::string version_of_dsc(std::string_view text);

/// "-DNAME_DIR={nothing}" with `folder` in its place, where the package NAME is then found, and empty: for a source
/// that asks for a package of which, as it is configured, it uses nothing. Any other definition as it is.
[[nodiscard]] std::string with_empty_package(const std::string& definition, const std::filesystem::path& folder);

/// Why CMake or the compiler ended, from what they printed: the first package or header that is missing, with the
/// remedy; else the last line. `what`: configure, build, install.
[[nodiscard]] std::string explain_build(std::string_view what, std::string_view output);

/// What decides the outcome beside the source: the compiler's first line of --version and, where a flag says `native`,
/// the processor's instruction sets.
[[nodiscard]] std::string build_abi(const EnvironmentRecipe& recipe);

/// Gets, configures, builds, installs: four steps of progress. Returns the lock: "onednn==3.7.2-1".
[[nodiscard]] std::expected<std::vector<std::string>, EnvironmentFailure> build_from_source(InstallSession& session);

}  // namespace nocturne::measure
