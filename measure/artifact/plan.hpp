#pragma once

/// Turns a recipe and flags into the commands of a build, and into its key.

#include <chrono>
#include <expected>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/artifact/artifact.hpp"
#include "measure/artifact/compiler.hpp"

namespace nocturne::measure {

/// All that a build consists of, decided before the first file is compiled.
struct BuildPlan {
  CompilerIdentity compiler;
  std::string name;                                       ///< name of the program
  std::filesystem::path source_root;                      ///< working directory of all commands
  std::vector<std::vector<std::filesystem::path>> units;  ///< sources compiled as one each, relative to it
  std::vector<std::string> compile{};                     ///< arguments before -c SOURCE -o OBJECT
  std::vector<std::string> link_before{};                 ///< arguments before the objects
  std::vector<std::string> link_after{};                  ///< arguments after the objects
  std::vector<std::filesystem::path> libraries{};         ///< files linked, as far as the compiler tells where they are
};

/// The folder of a prefix in which the libraries lie; a wheel says lib, Fedora lib64.
[[nodiscard]] std::filesystem::path library_folder(const std::filesystem::path& prefix);

[[nodiscard]] std::expected<BuildPlan, BuildFailure> plan_build(const BuildRecipe& recipe, const BuildFlags& flags,
                                                                const BuildOptions& options,
                                                                std::chrono::steady_clock::time_point deadline,
                                                                const std::stop_token& stop);

/// The key, and the document it is the digest of (kept in the manifest, so that a difference can be explained).
struct BuildKey {
  std::string key;
  nlohmann::json inputs;
  std::vector<std::filesystem::path> files;  ///< absolute: everything whose contents went into it
};

/// Sources in their order, those that follow one another in a folder joined, at most `together` a unit.
[[nodiscard]] std::vector<std::vector<std::filesystem::path>> units_of(
    const std::vector<std::filesystem::path>& sources, std::size_t together);

/// The compiler's arguments that name a unit: its last source, the others included before it.
[[nodiscard]] std::vector<std::string> unit_arguments(const std::vector<std::filesystem::path>& unit);

/// Runs the preprocessor on each unit, `options.jobs` at a time.
[[nodiscard]] std::expected<BuildKey, BuildFailure> compute_key(const BuildPlan& plan, const BuildOptions& options,
                                                                std::chrono::steady_clock::time_point deadline,
                                                                const std::stop_token& stop);

/// Compiles and links into `folder`, which holds the program and build.log afterwards (objects are removed).
[[nodiscard]] std::expected<void, BuildFailure> carry_out(const BuildPlan& plan, const BuildOptions& options,
                                                          const std::filesystem::path& folder,
                                                          std::chrono::steady_clock::time_point deadline,
                                                          const std::stop_token& stop);

/// Files named by a makefile rule, as compilers write it with -M.
[[nodiscard]] std::vector<std::string> parse_dependencies(std::string_view rule);

/// The first line of a compiler's or linker's output that says what is wrong; else its last line.
[[nodiscard]] std::string first_error(std::string_view log);

}  // namespace nocturne::measure
