#pragma once

/// `nocturne env [ACTION [NAME…]]`: the environments of frameworks, an action a function. Names are those of recipes,
/// for remove those of images, too; all are known when an action is called.

#include <expected>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::cli {

struct EnvOptions {
  std::string action = "list";  ///< list, install, check, remove, python, export, update
  std::vector<std::string> names;
  std::string lock;               ///< install: a file that export wrote
  std::string output;             ///< export: a file; empty: standard output
  std::string bundle;             ///< export: file or folder to write; install: the file
  std::string profile;            ///< export --bundle: a profile that goes with it
  bool thorough = false;          ///< check: an epoch beside the reference
  bool all = false;               ///< check: everything that is installed
  std::vector<std::string> vary;  ///< check --thorough: NAME=VALUE,…; a row for each value
};

void setup(CLI::App& subcommand, EnvOptions& options);
[[nodiscard]] ExitCode run(const EnvOptions& options, Context& context);

struct EnvOrder {
  const EnvOptions& options;
  std::shared_ptr<const tuner::Frameworks> frameworks;
  std::vector<const measure::EnvironmentRecipe*> recipes;  ///< that were named
  std::vector<std::string> images{};                       ///< made ones that were named; only remove takes them
};

/// Whether an image of this name was made here; makes nothing.
[[nodiscard]] bool is_made_image(const std::string& name, const Context& context);
/// All recipes: installed, available, or not here and why.
[[nodiscard]] ExitCode list_environments(const EnvOrder& order, Context& context);
/// Installs or, with `anew`, resolves and installs beside; one after the other, going on after a failure.
[[nodiscard]] ExitCode make_environments(const EnvOrder& order, Context& context, bool anew);
/// Imports, and trains three steps with the real worker under the real supervisor; with --thorough as below.
[[nodiscard]] ExitCode check_environments(const EnvOrder& order, Context& context);
/// What is wrong with the words of --vary, a sentence; empty: nothing.
[[nodiscard]] std::string problem_of_variations(const std::vector<std::string>& words);
[[nodiscard]] ExitCode remove_environments(const EnvOrder& order, Context& context);
/// The path of the Python of an environment, for scripts.
[[nodiscard]] ExitCode print_python(const EnvOrder& order, Context& context);
/// The resolved versions as JSON, which `install --lock` takes.
[[nodiscard]] ExitCode export_environment(const EnvOrder& order, Context& context);

/// Environments, and with --profile a profile and its build, as one file.
[[nodiscard]] ExitCode pack_environments(const EnvOrder& order, Context& context);
/// Installs what such a file holds; names a profile that came with it.
[[nodiscard]] ExitCode install_bundle(const EnvOrder& order, Context& context);

/// What a lock file asks for. The error is a sentence with the file.
struct LockFile {
  std::string recipe;
  std::vector<std::string> packages;
};
[[nodiscard]] std::expected<LockFile, std::string> read_lock_file(const std::string& path);

}  // namespace nocturne::cli
