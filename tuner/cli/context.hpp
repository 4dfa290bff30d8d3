#pragma once

/// What every subcommand is given: where its data lies and whom it talks to. Made once by main from the real process; a
/// test makes its own with string streams, a temporary folder and an environment of its choice.

#include <expected>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// CLI11's parser by name alone: its own header leaves 100 KB of code and objects made at the start in each unit that
// includes it, so only the sources that add options do.
namespace CLI {
class App;
}

namespace nocturne::cli {

/// Not thread-safe; a subcommand runs in the main thread.
struct Context {
  std::istream* in = nullptr;   ///< standard input; null: there is none
  std::ostream* out = nullptr;  ///< results; never null when a subcommand runs
  std::ostream* err = nullptr;  ///< progress, warnings, errors; never null when a subcommand runs
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t columns = 0;  ///< width that pages and the progress line are laid out for; 0: any will do
  std::map<std::string, std::string, std::less<>> environment;  ///< the process's environment, copied at the start

  bool json = false;                     ///< --json: print one JSON document on `out` and nothing else there
  std::string data_option;               ///< --data as given, or empty
  std::string database_option;           ///< --db as given, or empty
  const CLI::App* app = nullptr;         ///< the whole command line, for `completion`
  std::string program = "nocturne";      ///< as it was called: what a shell finds it by
  std::vector<std::string> arguments{};  ///< all words behind it
  std::vector<std::string> command;      ///< what stands behind `--` of `tune`
  bool command_given = false;            ///< there was a `--`

  /// Where `out` is laid out on its way: what lies behind it, for texts that are not for people.
  std::ostream* behind_page = nullptr;
  /// For what programs read (JSON, scripts, single paths): no line of it is broken.
  [[nodiscard]] std::ostream& verbatim() const { return behind_page != nullptr ? *behind_page : *out; }

  /// Value of an environment variable; empty and unset are both nothing.
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;

  /// --data, else $NOCTURNE_DATA, else $XDG_DATA_HOME/nocturne, else ~/.local/share/nocturne. Absolute.
  [[nodiscard]] std::filesystem::path data_folder() const;
  /// --db, else nocturne.db in the data folder. Absolute.
  [[nodiscard]] std::filesystem::path database() const;
  [[nodiscard]] std::filesystem::path runs_folder() const { return data_folder() / "runs"; }
  [[nodiscard]] std::filesystem::path builds_folder() const { return data_folder() / "builds"; }
  [[nodiscard]] std::filesystem::path images_folder() const { return data_folder() / "images"; }
  /// The user's own recipes of images: `images` of the configuration folder. Empty: no home.
  [[nodiscard]] std::filesystem::path image_recipes_folder() const;
  [[nodiscard]] std::filesystem::path profiles_folder() const { return data_folder() / "profiles"; }
  /// What was seen of deployed trainings (tuner/deploy/deployment_log.hpp).
  [[nodiscard]] std::filesystem::path deployments_folder() const { return data_folder() / "deployments"; }
  [[nodiscard]] std::filesystem::path environments_folder() const { return data_folder() / "environments"; }
  /// Caches of graph compilers, where a campaign wants them warm.
  [[nodiscard]] std::filesystem::path caches_folder() const { return data_folder() / "compile-caches"; }
  /// What the user registers: $XDG_CONFIG_HOME/nocturne, else ~/.config/nocturne. Empty: no home.
  [[nodiscard]] std::filesystem::path configuration_folder() const;
  /// The user's own recipes: `recipes` of the configuration folder. Empty: no home.
  [[nodiscard]] std::filesystem::path recipes_folder() const;

  /// Colours only where the user looks: a terminal, NO_COLOR unset or empty (https://no-color.org), TERM not "dumb".
  [[nodiscard]] bool colour_out() const;
  [[nodiscard]] bool colour_err() const;

  /// Makes the data folder (mode 0700: configurations and logs are the user's own) with runs, builds and profiles in
  /// it. The error is a sentence with the path.
  [[nodiscard]] std::expected<void, std::string> make_folders() const;
};

/// The context of this process: std::cout, std::cerr, isatty, the environment.
[[nodiscard]] Context process_context();

}  // namespace nocturne::cli
