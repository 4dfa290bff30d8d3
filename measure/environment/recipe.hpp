#pragma once

/// What an environment is made of: one JSON file a recipe. Shipped ones lie in measure/environment/recipes/, a user's
/// own in recipes/ of the configuration folder; a user's one of the same name takes precedence.
///
///   {"recipe": "pytorch-1.4",                       the file's name without .json; a value of the parameter
///   `framework`
///    "title": "PyTorch 1.4",
///    "kind": "python",                              or native, command, image: below
///    "worker": "pytorch_worker.py",                 below kernels/python/
///    "python": ">=3.5,<3.8",                        versions it runs on; major.minor compared
///    "source": "pip",                               how the software got here: pip, distribution, opt-build; of an
///                                                   image: image, hub (an image of one), opt-build (built in it)
///    "framework": "pytorch",                        where `source` is a parameter: a value of `framework` that it
///                                                   answers beside its name
///    "packages": [["torch==1.4.0", "numpy<1.20"]],  a list a step of installation, in this order
///    "no_dependencies": [true],                     steps that take no dependencies along; absent: they do
///    "fix_ups": ["cuda_stand_ins"],                 programs of measure/environment/fix_ups/, run in this order
///    "imports": ["torch"],                          what `check` imports
///    "graph_compilers": ["none", "torchscript"],    what it has of them, the first what it is for; `check` trains with
///    it "needs": {"commands": ["g++"], "isa": ["avx2"], "gpu": true}, "uses_system_packages": true, where a Python of
///    this machine imports them already, those are taken "environment": {"PJRT_DEVICE": "CPU"},         variables the
///    worker runs with; {environment} is its folder "licence": "BSD-3-Clause", "download_mb": 740, "disk_mb": 1430,
///    "labels": {"framework": "pytorch", "version": "1.4"},   what requests ask for (tuner/registry), where its name
///    does not say it "note": "…"}
///
/// Keys of the other kinds and sources:
///
///   {"source": "distribution", "debian": ["python3-torch", "libopenblas0-pthread"],    unpacked, not installed
///    "environment": {"LD_LIBRARY_PATH": "{environment}/debian/usr/lib/…"}, …}          (debian_packages.hpp)
///   {"kind": "native", "source": "opt-build", "worker": "onednn",        our worker, against a library built here from
///    "build": {"package": "onednn", "suite": "trixie", "cmake": ["-D…"]}}              its source (source_build.hpp)
///   {"kind": "image", "image": "hub-tf", "interpreter": "/usr/bin/python3", "worker": "tensorflow2_worker.py"}
///                                                   a Python of that image (measure/container), in a container alone
///   {"kind": "command", "command": {"template": [["/opt/glow/train", "--batch={batch}"]], "time": {"pattern": "…"}}}
///                                                   a program of the user's own (measure/run/command_template.hpp)

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::measure {

enum class RecipeKind { Python, Native, Command, Image };

/// A library that is built from the distribution's source package.
struct SourcePackage {
  std::string package;             ///< "onednn"
  std::string suite;               ///< Debian suite that the source is taken from: "trixie"
  std::vector<std::string> cmake;  ///< arguments, each a -D
};

struct EnvironmentRecipe {
  std::string name;
  std::string title;
  RecipeKind kind = RecipeKind::Python;
  std::string worker;  ///< file name below kernels/python/; of kind native: which of our own
  std::string python;  ///< version specifier; empty: any that the worker's protocol runs on (3.6 or later)
  std::string source = "pip";
  std::string framework;  ///< value of the parameter that it answers, too, if asked for its source; may be empty
  struct Step {
    std::vector<std::string> packages;  ///< requirement specifiers, none an option, a path or an address
    bool no_dependencies = false;
  };
  std::vector<Step> steps;
  std::vector<std::string> debian;     ///< names of the distribution's packages
  std::optional<SourcePackage> build;  ///< present if source is opt-build
  std::string image;                   ///< name of an image's recipe, of kind image
  std::filesystem::path interpreter;   ///< absolute path of Python in that image
  nlohmann::json command;              ///< present if kind is command; null otherwise
  bool uses_system_packages = false;
  std::vector<std::string> fix_ups;
  std::vector<std::string> imports;
  std::vector<std::string> graph_compilers;  ///< values of the parameter, the usual one first; empty: it has none
  std::vector<std::string> needed_commands;
  std::vector<std::string> needed_isa;
  bool needs_gpu = false;
  std::map<std::string, std::string> environment;
  std::string licence, note;
  std::int64_t download_bytes = 0;  ///< about; 0: not known
  std::int64_t disk_bytes = 0;
  std::filesystem::path file;  ///< where it was read from
  nlohmann::json document;     ///< content of that file

  /// Whether an environment is made for it. The runtime keeps an image, and the user a command.
  [[nodiscard]] bool is_installed() const { return kind == RecipeKind::Python || build.has_value(); }
};

/// `environment` with the folder in its places.
[[nodiscard]] std::map<std::string, std::string> variables_of(const EnvironmentRecipe& recipe,
                                                              const std::filesystem::path& folder);

/// The error says what is wrong, where (JSON pointer) and what is allowed. Hostile input: names that look like options,
/// hold a slash or lead upwards are refused, and so are packages that are not plain requirement specifiers.
[[nodiscard]] std::expected<EnvironmentRecipe, std::string> parse_recipe(const nlohmann::json& document,
                                                                         const std::string& name);

// All recipes this user has: shipped ones and their own.

class RecipeSet {
 public:
  /// Folders in order of precedence; those that are not there count as empty. A file that cannot be read or parsed is
  /// left out and named in problems().
  [[nodiscard]] static RecipeSet load(const std::vector<std::filesystem::path>& folders);

  [[nodiscard]] const std::vector<EnvironmentRecipe>& recipes() const { return recipes_; }  ///< sorted by name
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }      ///< a sentence a file
  /// The error is a sentence with the nearest known name.
  [[nodiscard]] std::expected<EnvironmentRecipe, std::string> find(std::string_view name) const;

 private:
  std::vector<EnvironmentRecipe> recipes_;
  std::vector<std::string> problems_;
};

}  // namespace nocturne::measure
