#pragma once

/// What `nocturne env` does, an action a function. Names are those of recipes; all are known when an action is called.

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/verbs/env.hpp"
#include "tuner/executor/frameworks.hpp"

namespace nocturne::cli {

struct EnvOrder {
  const EnvOptions& options;
  std::shared_ptr<const tuner::Frameworks> frameworks;
  std::vector<const measure::EnvironmentRecipe*> recipes;  ///< that were named
};

/// All recipes: installed, available, or not here and why.
[[nodiscard]] ExitCode list_environments(const EnvOrder& order, Context& context);
/// Installs or, with `anew`, resolves and installs beside; one after the other, going on after a failure.
[[nodiscard]] ExitCode make_environments(const EnvOrder& order, Context& context, bool anew);
/// Imports, and trains three steps with the real worker under the real supervisor.
[[nodiscard]] ExitCode check_environments(const EnvOrder& order, Context& context);
[[nodiscard]] ExitCode remove_environments(const EnvOrder& order, Context& context);
/// The resolved versions as JSON, which `install --lock` takes.
[[nodiscard]] ExitCode export_environment(const EnvOrder& order, Context& context);

/// Environments, and with --profile a profile and its build, as one file.
[[nodiscard]] ExitCode pack_environments(const EnvOrder& order, Context& context);
/// Installs what such a file holds; names a profile that came with it.
[[nodiscard]] ExitCode install_bundle(const EnvOrder& order, Context& context);

/// A line for each step of an installation; on a terminal the last one is rewritten.
class InstallDisplay {
 public:
  explicit InstallDisplay(const Context& context) : context_(context) {}
  void step(std::string_view line);
  void clear();

 private:
  const Context& context_;
  bool shown_ = false;
};

/// What a lock file asks for. The error is a sentence with the file.
struct LockFile {
  std::string recipe;
  std::vector<std::string> packages;
};
[[nodiscard]] std::expected<LockFile, std::string> read_lock_file(const std::string& path);

}  // namespace nocturne::cli
