#pragma once

/// What to build and with which flags.

#include <expected>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"

namespace nocturne::measure {

/// A file such as kernels/onednn/build.json. All paths are relative to the source root:
///
///     {"name": "nocturne-onednn", "standard": "c++20",
///      "sources": ["kernels/onednn/main.cpp", …], "include": ["."], "defines": ["X=1"],
///      "libraries": ["gomp"], "flags": ["-fno-math-errno"], "uses": ["onednn"], "together": 8}
///
/// `together`: at most so many sources that follow one another in a folder are compiled as one unit, which reads the
/// headers they share once; names in their anonymous namespaces must then differ. Default: 1.
/// `uses`: "nlohmann-json" (headers, from the prefix in BuildOptions), "onednn" (from its prefix: include folder,
/// library folder, rpath, -ldnnl) and "threads" (-pthread). `comment` is ignored; // comments are allowed; any other
/// key is an error.
struct BuildRecipe {
  std::string name;
  std::filesystem::path source_root;
  std::vector<std::filesystem::path> sources;
  std::vector<std::filesystem::path> include;
  std::string standard = "c++20";
  std::vector<std::string> defines;
  std::vector<std::string> libraries;  ///< -lNAME
  std::vector<std::string> flags;      ///< for each compilation and the link
  std::vector<std::string> uses;
  int together = 1;  ///< sources a unit, at most
};

/// The error names the file and the key.
[[nodiscard]] std::expected<BuildRecipe, std::string> load_build_recipe(const std::filesystem::path& file,
                                                                        const std::filesystem::path& source_root);
[[nodiscard]] std::expected<BuildRecipe, std::string> build_recipe_from_json(const nlohmann::json& document,
                                                                             const std::filesystem::path& source_root);

/// Values of the build-stage parameters. The defaults stand for an absent parameter.
struct BuildFlags {
  std::string compiler = "g++";  ///< name found on PATH, or an absolute path
  /// O0 O1 O2 O3 Os Ofast. Workers are loops over numbers, and g++ 12 at O2 leaves most of them scalar.
  std::string optimisation = "O3";
  std::string march;  ///< x86-64-v3, native, …; empty: the compiler's default
  bool lto = false;
  bool fast_math = false;
  std::string extra_flags;  ///< more flags, separated by spaces
  friend bool operator==(const BuildFlags&, const BuildFlags&) = default;
};

struct BuildParameter {
  std::string_view name, values, sets, explanation;
};
/// compiler, optimisation, march, lto, fast_math, extra_flags.
[[nodiscard]] std::span<const BuildParameter> build_parameters();

/// Reads the parameters of this table from a configuration; others are passed over. The error is a sentence.
[[nodiscard]] std::expected<BuildFlags, std::string> build_flags(const space::Configuration& configuration);

/// The value of a build parameter with which the programs that come along are built; empty: no such parameter.
[[nodiscard]] std::optional<space::Value> shipped_value(std::string_view parameter);

/// "g++ -O3 -march=x86-64-v4 -flto"
[[nodiscard]] std::string to_text(const BuildFlags& flags);

/// The compiler's arguments for these flags, without the recipe's.
[[nodiscard]] std::vector<std::string> compile_arguments(const BuildFlags& flags);

}  // namespace nocturne::measure
