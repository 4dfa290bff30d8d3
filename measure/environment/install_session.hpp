#pragma once

/// The commands of one installation, run one after another: each with its output in the log, within the deadline, in
/// an environment that nothing of the caller's Python or pip leaks into. What they are is decided elsewhere
/// (environment_installer, debian_packages, source_build).

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "measure/artifact/process.hpp"
#include "measure/environment/environment_installer.hpp"

namespace nocturne::measure {

class InstallSession {
 public:
  using Clock = std::chrono::steady_clock;
  struct CommandOutput {
    CommandResult result;
    std::string output;
  };

  /// Everything given must outlive it.
  InstallSession(const EnvironmentRecipe& recipe, const InstallOptions& options, const InstallPlaces& places,
                 const std::stop_token& stop)
      : recipe_(recipe), options_(options), places_(places), stop_(stop), deadline_(Clock::now() + options.deadline) {}

  /// How many times say() will be called.
  void expect_steps(std::size_t steps) { steps_ = steps; }
  /// A line of the log and of progress: "NAME: 2/4 torch==1.4.0 (740 MB)".
  void say(const std::string& what);
  /// argv[0]: an absolute path, or a name that find_tool() knows. Within `deadline` and that of the installation.
  [[nodiscard]] CommandOutput start(std::vector<std::string> arguments,
                                    Clock::time_point deadline = Clock::time_point::max(),
                                    const std::map<std::string, std::string>& variables = {},
                                    const std::filesystem::path& folder = {}) const;
  /// What pip install, wheel and download are told alike: its cache, where the packages are, no questions. Known to
  /// pip 18 already.
  [[nodiscard]] std::vector<std::string> pip_options() const;
  /// `what` was run and ended so; `why` is the sentence where it ended by itself.
  [[nodiscard]] EnvironmentFailure failure(const CommandOutput& ended, std::string_view what,
                                           std::string_view why) const;
  /// What could not be written for want of room.
  [[nodiscard]] EnvironmentFailure full_disk() const;
  /// A failure that no command ended with.
  [[nodiscard]] EnvironmentFailure error(std::string_view what) const;

  [[nodiscard]] const EnvironmentRecipe& recipe() const { return recipe_; }
  [[nodiscard]] const InstallOptions& options() const { return options_; }
  [[nodiscard]] const InstallPlaces& places() const { return places_; }
  /// FOLDER/bin/python
  [[nodiscard]] std::filesystem::path python() const { return places_.folder / "bin/python"; }
  /// Folder of all environments.
  [[nodiscard]] std::filesystem::path store() const { return places_.log.parent_path().parent_path(); }

 private:
  const EnvironmentRecipe& recipe_;
  const InstallOptions& options_;
  const InstallPlaces& places_;
  const std::stop_token& stop_;
  Clock::time_point deadline_;
  std::size_t step_ = 0, steps_ = 0;
};

}  // namespace nocturne::measure
