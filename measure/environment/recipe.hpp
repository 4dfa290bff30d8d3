#pragma once

/// What an environment is made of: one JSON file a recipe. Shipped ones lie in measure/environment/recipes/, a user's
/// own in recipes/ of the configuration folder; a user's one of the same name takes precedence.
///
///   {"recipe": "pytorch-1.4",                       the file's name without .json; a value of the parameter
///   `framework`
///    "title": "PyTorch 1.4",
///    "kind": "python",                              or "native" (built by Nocturne itself) or "command"
///    "worker": "pytorch_worker.py",                 below kernels/python/
///    "python": ">=3.5,<3.8",                        versions it runs on; major.minor compared
///    "source": "pip",                               how the software got here: pip, distribution, opt-build, image
///    "packages": [["torch==1.4.0", "numpy<1.20"]],  a list a step of installation, in this order
///    "no_dependencies": [true],                     steps that take no dependencies along; absent: they do
///    "fix_ups": ["cuda_stand_ins"],                 programs of measure/environment/fix_ups/, run in this order
///    "imports": ["torch"],                          what `check` imports
///    "needs": {"commands": ["g++"], "isa": ["avx2"]},
///    "environment": {"PJRT_DEVICE": "CPU"},         variables the worker runs with
///    "licence": "BSD-3-Clause", "download_mb": 740, "disk_mb": 1430, "note": "…"}

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::measure {

enum class RecipeKind { Python, Native, Command };

struct EnvironmentRecipe {
  std::string name;
  std::string title;
  RecipeKind kind = RecipeKind::Python;
  std::string worker;  ///< file name below kernels/python/
  std::string python;  ///< version specifier; empty: any that the worker's protocol runs on (3.6 or later)
  std::string source = "pip";
  struct Step {
    std::vector<std::string> packages;  ///< requirement specifiers, none an option, a path or an address
    bool no_dependencies = false;
  };
  std::vector<Step> steps;
  std::vector<std::string> fix_ups;
  std::vector<std::string> imports;
  std::vector<std::string> needed_commands;
  std::vector<std::string> needed_isa;
  std::map<std::string, std::string> environment;
  std::string licence, note;
  std::int64_t download_bytes = 0;  ///< about; 0: not known
  std::int64_t disk_bytes = 0;
  std::filesystem::path file;  ///< where it was read from
  nlohmann::json document;     ///< as it stands there
};

/// The error says what is wrong, where (JSON pointer) and what is allowed. Hostile input: names that look like options,
/// hold a slash or lead upwards are refused, and so are packages that are not plain requirement specifiers.
[[nodiscard]] std::expected<EnvironmentRecipe, std::string> parse_recipe(const nlohmann::json& document,
                                                                         const std::string& name);

}  // namespace nocturne::measure
