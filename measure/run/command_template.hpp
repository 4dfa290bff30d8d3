#pragma once

/// A user's own command as a campaign file describes it, and the command line of one configuration.
///
/// `{name}` in a word stands for the value of that parameter, as the user reads it: true, 3, 0.25. `{name?TEXT}` as a
/// whole word is TEXT where the boolean `name` is true, and left out where it is false. `{run.steps}` and `{run.seed}`
/// are what this run shall do. One more brace on each side takes the meaning away: `{{name}}` is the text `{name}`.
/// Everything else, JSON and awk included, is text. No shell sees a word, and a value is never split into several.
///
/// Words stand in groups. A group in which a parameter has no value (it is inactive) is left out as a whole, so that an
/// option goes with its value; likewise an environment variable.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"

namespace nocturne::measure {

/// Where the time of a run comes from.
enum class Timing {
  Process,  ///< the whole process is one step, and one step an epoch: T(N) is N times its time
  Steps,  ///< the module in front of it (kernels/inject) sees the steps, or it imports nocturne_steps (kernels/python)
  Pattern,  ///< a regular expression finds steps or times in what it prints
  Detect,   ///< Steps where they are seen, else Process: for a run that finds out
};

/// A lever's value that changes nothing, and what one may change that nothing can judge.
inline constexpr const char* kAsScript = "script";
inline constexpr const char* kChangesLearning = "what is learnt";

/// What Keras's fit or a Trainer of transformers evaluates by itself says how accurate a command is. No pattern: it has
/// no group.
inline constexpr const char* kAccuracySeen = "seen";

/// What the module in front of an unchanged script changes in it. The parameter of the lever's name says how;
/// kAsScript: not at all.
struct Lever {
  std::string variable;  ///< NOCTURNE_LEVER_…, which the module reads
  std::string changes;   ///< nothing; some of rounding, precision, random stream, checkpoint, by ", "; what is learnt
  std::map<std::string, std::string> lines;      ///< value → the lines that do the same in the script
  std::map<std::string, std::string> told = {};  ///< value → what the module calls it, where that is not its own text
  /// What the module is told of this value.
  [[nodiscard]] std::string word(const std::string& value) const;
  /// Whether the configuration's value of the lever's parameter changes the script.
  [[nodiscard]] bool is_pulled(const space::Configuration& configuration, const std::string& parameter) const;
  friend bool operator==(const Lever&, const Lever&) = default;
};

/// Tells the module in front of a script how many threads it shall train with, whatever it sets itself.
inline constexpr const char* kThreadsVariable = "NOCTURNE_LEVER_THREADS";

/// What the module in front of a PyTorch script counts as a step (kernels/inject).
inline constexpr const char* kOptimizerStep = "optimizer step";
inline constexpr const char* kBackward = "backward";

/// What the command may change where it runs.
enum class Files {
  InPlace,        ///< as if the user had started it
  PrivateFolder,  ///< a view of its own of its folder, which goes with the run
  Private,        ///< likewise, and of everything else that it may write, but the caches in its home
};

/// As campaign files have it: in place, private folder, private.
[[nodiscard]] std::string_view to_text(Files files);

/// The module in front of a script cuts its first epochs short, one and `every` more, so that each run shows what
/// stands between epochs.
struct EpochEnds {
  std::int64_t steps = 0;     ///< of an epoch that is cut; 0: none is
  std::int64_t examples = 0;  ///< of an epoch that is not: tells the training's loader from others
  std::int64_t every = 1;     ///< epochs after which what stands between them comes back

  /// Of the epochs that are cut.
  [[nodiscard]] std::int64_t all_steps() const { return (1 + every) * steps; }
  friend bool operator==(const EpochEnds&, const EpochEnds&) = default;
};

struct CommandTemplate {
  std::vector<std::vector<std::string>> groups;    ///< groups of words; the very first word is the program
  std::map<std::string, std::string> environment;  ///< variable → text with places
  std::filesystem::path folder;                    ///< absolute: where the command starts
  Timing timing = Timing::Process;
  std::string pattern;  ///< RE2, with Timing::Pattern
  /// RE2: how accurate it is, in what it prints; kAccuracySeen: the module sees that; empty: nothing says so.
  std::string accuracy = {};
  std::map<std::string, Lever> levers = {};  ///< by the name of their parameter
  EpochEnds epoch_ends = {};                 ///< with Timing::Steps
  std::string step = {};  ///< with Timing::Steps: what each run counts as one, "backward"; empty: each decides itself
  Files files = Files::InPlace;
  std::vector<std::filesystem::path> shared = {};  ///< absolute: folders that stay the user's own in a private view
  std::vector<std::filesystem::path> sources =
      {};  ///< absolute: files that it is made of; their contents tell it apart

  [[nodiscard]] bool empty() const { return groups.empty(); }
  /// Nothing is known within a run, so that it cannot be measured in slices: the process is timed as a whole, or says
  /// at its end how long it took (group total_seconds).
  [[nodiscard]] bool whole() const;
  friend bool operator==(const CommandTemplate&, const CommandTemplate&) = default;
};

/// What `{run.steps}` and `{run.seed}` are.
struct CommandRun {
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
};

/// A place for a value in a word.
struct CommandPlace {
  std::string name;        ///< name of a parameter, or run.steps, run.seed
  bool condition = false;  ///< {name?TEXT}
  friend bool operator==(const CommandPlace&, const CommandPlace&) = default;
};
[[nodiscard]] std::vector<CommandPlace> places_in(std::string_view word);
[[nodiscard]] bool is_run_place(std::string_view name);
/// "NOCTURNE_LEVER_AUTOCAST"
[[nodiscard]] bool is_lever_variable(std::string_view name);
/// A text that stands for itself: `{name}` becomes `{{name}}`.
[[nodiscard]] std::string escaped_word(std::string_view text);

/// The words of one configuration. The error is a sentence: a condition that is no boolean, a program without a name,
/// a zero byte.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> fill_words(const CommandTemplate& command,
                                                                              const space::Configuration& configuration,
                                                                              const CommandRun& run);
/// The variables of one configuration, its levers among them; those with an inactive parameter are not.
[[nodiscard]] std::expected<std::map<std::string, std::string>, std::string> fill_environment(
    const CommandTemplate& command, const space::Configuration& configuration, const CommandRun& run);

/// Names of groups that a pattern may have: what each match says of the steps since the last one.
[[nodiscard]] const std::vector<std::string>& pattern_groups();
/// And those of a pattern that finds how accurate the command is.
[[nodiscard]] const std::vector<std::string>& accuracy_groups();

/// What tells a file from another of its name: its contents, or, where it is larger than a script, its size and time of
/// change; empty: it is no file.
[[nodiscard]] std::string state_of_file(const std::filesystem::path& file);
/// That of all sources together; empty: there are none.
[[nodiscard]] std::string state_of_sources(const CommandTemplate& command);

[[nodiscard]] nlohmann::json to_json(const Lever& lever);
/// Keys as in campaign files: template, environment, folder, time, accuracy, levers, epoch_ends, step, files,
/// shared, sources.
[[nodiscard]] nlohmann::json to_json(const CommandTemplate& command);
/// Reads accuracy, levers, epoch_ends, step, files, shared and sources of such a document into `command`. The error
/// names the key and what was expected.
[[nodiscard]] std::expected<void, std::string> read_module(const nlohmann::json& document, CommandTemplate& command);
/// Reads a document that was checked before, or a profile that anybody may have edited. The error names the key.
[[nodiscard]] std::expected<CommandTemplate, std::string> command_from_json(const nlohmann::json& document);

}  // namespace nocturne::measure
