#pragma once

/// What a first run showed of a training that nobody changed: the report of the module in front of it (kernels/inject)
/// and what the private view of its files tells (kernels/command). Both are written by the user's processes, so nothing
/// in them is believed unread.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/run/command_template.hpp"

namespace nocturne::tuner {

/// A value of another lever.
struct LeverValue {
  std::string lever, value;
  friend bool operator==(const LeverValue&, const LeverValue&) = default;
};

/// Something that can be changed in the script from outside.
struct SeenLever {
  std::string name;  ///< its parameter's name
  std::string description;
  std::vector<std::string> values{};        ///< the first, "script", changes nothing
  bool compiles = false;                    ///< costs seconds at the start of each process: of the compile stage
  std::optional<LeverValue> inert_at = {};  ///< where this one changes nothing: no processes, nothing to prefetch
  measure::Lever lever{};
  friend bool operator==(const SeenLever&, const SeenLever&) = default;
};

/// Steps that a pause ends, which returns after as many (kernels/inject/nocturne_inject/rounds.py).
struct StepRound {
  std::int64_t steps = 0;
  double seconds = 0;  ///< of a whole one
};

struct SeenTraining {
  std::string framework, framework_version, device;  ///< "pytorch", "2.15.0", "cpu"
  std::string unit;                     ///< what a step is: "optimizer step", "backward", …; empty: none was
  std::optional<std::int64_t> units{};  ///< in a step: of a GAN two
  std::optional<std::int64_t> batch;    ///< examples of a step
  std::optional<std::int64_t> steps_per_epoch, examples_per_epoch;
  std::optional<std::int64_t> loader_examples{};     ///< of the loader, where an epoch trains on a part of them
  std::optional<std::int64_t> epochs, steps_in_all;  ///< that it trains, by its loops; at most one of both
  std::string trains;                                ///< which loop says so
  /// Epochs after which what that loop does between them comes back, as an evaluation behind each fifth one does.
  std::optional<std::int64_t> ends_repeat{};
  std::optional<double> step_seconds{};          ///< median
  std::optional<StepRound> round{};              ///< where its steps come in rounds
  std::map<std::string, double> share{};         ///< shares of a step's time: data, forward, backward, optimizer, other
  std::vector<SeenLever> levers{};               ///< that can apply
  bool replaces_threads = false;                 ///< their number can be set whatever the script sets
  bool sets_threads = false;                     ///< it calls the function that does
  bool records_learning = true;                  ///< what it learns can be compared with the script unchanged
  std::string omp_num_threads{};                 ///< that variable, as it was while it trained; empty: not set
  std::map<std::string, std::string> refused{};  ///< lever → why not
  std::vector<std::string> sources{};            ///< the script and its own modules: paths from the folder, or absolute
  std::vector<std::string> notes;                ///< sentences for the user
  bool ended = false;                            ///< the script was done before it had shown enough

  /// Steps that it trains in all, by its loops.
  [[nodiscard]] std::optional<std::int64_t> all_steps() const {
    return epochs && steps_per_epoch ? std::optional(*epochs * *steps_per_epoch) : steps_in_all;
  }
  /// What a step takes of all that is trained: with its part of the pause that ends a round.
  [[nodiscard]] std::optional<double> mean_step_seconds() const {
    return round ? std::optional(round->seconds / static_cast<double>(round->steps)) : step_seconds;
  }
  /// What the steps of an epoch take.
  [[nodiscard]] std::optional<double> epoch_seconds() const {
    const auto mean = mean_step_seconds();
    return mean && steps_per_epoch ? std::optional(*mean * static_cast<double>(*steps_per_epoch)) : std::nullopt;
  }
};

/// The epochs that it trains; below 1 where its steps end before the data do. Empty: not known.
[[nodiscard]] std::optional<double> epochs_trained(const SeenTraining& seen);

/// Empty: there is no report, or it is none. What is no value of its key is left out.
[[nodiscard]] std::optional<SeenTraining> read_training_report(const std::filesystem::path& file);

/// The levers of a campaign's document, as command_document() wrote them.
[[nodiscard]] std::vector<SeenLever> levers_of(const nlohmann::json& document);

/// The condition of space::Parameter under which a lever that is inert there acts.
[[nodiscard]] std::string inert_expression(const LeverValue& at);

struct WrittenFile {
  std::string path;        ///< relative to the command's folder, else absolute
  std::int64_t bytes = 0;  ///< that it holds
  bool deleted = false;    ///< it was removed
};

/// What a run wrote.
struct WrittenFiles {
  std::string kind;                          ///< overlay, copy
  std::vector<WrittenFile> inside, outside;  ///< below the command's folder, and elsewhere
  std::vector<WrittenFile> prepared;         ///< new ones, caches' too, made before the first step had ended
  std::int64_t more = 0;                     ///< that are not named
  std::vector<std::string> notes;            ///< sentences for the user
};

/// `first_step`: its end, Unix time in ns; 0: none was seen. Empty: the run had no private view.
[[nodiscard]] std::optional<WrittenFiles> read_written_files(const std::filesystem::path& file,
                                                             std::int64_t first_step = 0);

}  // namespace nocturne::tuner
