#include "tuner/cli/output/seen_training_lines.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/own_command/command_document.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWidth = 80, kLabel = 12;
constexpr std::size_t kNamed = 10;                   // files
constexpr std::size_t kToCount = 4;                  // so many are counted, not named
constexpr std::int64_t kWorthPreparing = 1'000'000;  // bytes: of less no word is made

std::string labelled(std::string_view label, const std::string& text) {
  std::string lines;
  for (const std::string& line : wrapped(printable(text), kWidth - kLabel - 2))
    lines += fmt::format("  {:<{}}{}\n", lines.empty() ? label : "", kLabel, line);
  return lines;
}

std::string framework_name(const tuner::SeenTraining& training) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kNames = {{{"pytorch", "PyTorch"},
                                                                                    {"tensorflow", "TensorFlow"},
                                                                                    {"keras", "Keras"},
                                                                                    {"mxnet", "MXNet"},
                                                                                    {"paddle", "Paddle"},
                                                                                    {"jax", "JAX"},
                                                                                    {"xgboost", "XGBoost"},
                                                                                    {"lightgbm", "LightGBM"},
                                                                                    {"sklearn", "scikit-learn"}}};
  std::string name = training.framework;
  for (const auto& [key, shown] : kNames)
    if (training.framework == key) name = shown;
  if (!training.framework_version.empty()) name += " " + training.framework_version;
  if (training.device == "cpu") name += " on the processor";
  if (training.device == "cuda") name += " on the GPU";
  return name;
}

std::string step_text(const tuner::SeenTraining& training) {
  std::string text = training.unit.empty() ? "a step" : "one " + training.unit;
  if (!training.unit.empty() && training.units.value_or(1) > 1)
    text = fmt::format("{} {}s", *training.units, training.unit);
  if (training.batch) text += fmt::format(", {} examples", *training.batch);
  if (training.step_seconds) text += ", " + seconds_text(*training.step_seconds);
  const auto mean = training.mean_step_seconds();
  if (training.round)
    text += fmt::format(" (with the pause that returns every {} steps {})", training.round->steps, seconds_text(*mean));
  if (!training.steps_per_epoch) return text;
  text += fmt::format("; {} an epoch", *training.steps_per_epoch);
  if (const auto epoch = training.epoch_seconds()) text += fmt::format(" (about {})", seconds_text(*epoch));
  return text;
}

/// How long it trains. `wanted`: epochs, by --epochs.
std::string length_text(const tuner::SeenTraining& training, std::optional<double> wanted) {
  if (wanted) return fmt::format("{}, as --epochs says", epochs_text(*wanted));
  const std::string of_one =
      training.steps_per_epoch
          ? ""
          : fmt::format("; how long one is, is not seen: {} steps, or --examples N", tuner::kStepsOfAnEpoch);
  if (training.epochs)
    return fmt::format("{}: {}{}", epochs_text(static_cast<double>(*training.epochs)), training.trains, of_one);
  if (training.steps_in_all)
    return fmt::format("{} steps{}: {}", *training.steps_in_all,
                       training.steps_per_epoch ? "" : ", called an epoch below", training.trains);
  if (training.steps_per_epoch || training.batch)
    return "for how many epochs is not seen: times are of one (--epochs N)" + of_one;
  return fmt::format(
      "for how long is not seen: times are of {} steps, called an epoch below (--examples N: of N steps)",
      tuner::kStepsOfAnEpoch);
}

/// What stands between epochs. Empty: nobody looked, none was seen, or nothing to speak of.
std::string epoch_end_text(const tuner::CommandProbe& seen) {
  constexpr double kNothing = 0.005;  // of an epoch
  if (!seen.epoch_end) return {};
  const tuner::EpochEndProbe& probe = *seen.epoch_end;
  if (!probe.seen) {
    return fmt::format("no end of one was seen within {}, so times are without evaluation and the like",
                       seconds_text(std::chrono::duration<double>(probe.wall).count()));
  }
  const double epoch = seen.training->epoch_seconds().value_or(0);
  const double share = epoch > 0 ? probe.seen->each / epoch : 0;
  const std::string mean = probe.cut.every > 1 ? fmt::format(" (the mean of {} epochs)", probe.cut.every) : "";
  std::string text = fmt::format("{} of evaluation and the like, {:.0f} % of an epoch's steps{}",
                                 seconds_text(probe.seen->each), 100 * share, mean);
  if (probe.of_runs) {
    const auto repeat = seen.training->ends_repeat.value_or(1);
    const std::string without =
        repeat > probe.of_runs->every ? fmt::format(", without what comes back every {} epochs only", repeat) : "";
    return fmt::format("{}: each run cuts its first {} short to see them{}", text, cut_epochs_text(*probe.of_runs),
                       without);
  }
  return share < kNothing ? std::string() : text + ": longer than a run, so times are without them";
}

std::string share_text(const tuner::SeenTraining& training) {
  std::vector<std::string> parts;
  for (const std::string_view part : {"data", "forward", "backward", "optimizer", "other"}) {
    const auto share = training.share.find(std::string(part));
    if (share == training.share.end()) continue;
    parts.push_back(fmt::format("{} {:.0f} %", step_part_text(part, training.share), 100 * share->second));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Each reason once, with all that it refuses.
std::string refusals_text(const tuner::SeenTraining& training) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& [name, reason] : training.refused) {
    const auto known = std::ranges::find(reasons, reason, [](const auto& each) { return each.first; });
    if (known != reasons.end())
      known->second.push_back(name);
    else
      reasons.push_back({reason, {name}});
  }
  std::vector<std::string> parts;
  for (const auto& [reason, names] : reasons) parts.push_back(fmt::format("{} ({})", fmt::join(names, ", "), reason));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> names_of(const std::vector<tuner::WrittenFile>& files) {
  std::vector<std::string> names;
  for (const tuner::WrittenFile& file : files) {
    if (names.size() == kNamed) break;
    names.push_back(file.deleted ? file.path + " (deleted)" : file.path);
  }
  if (files.size() > kNamed) names.push_back(fmt::format("and {} more", files.size() - kNamed));
  return names;
}

std::string names_text(const std::vector<tuner::WrittenFile>& files) {
  return fmt::format("{}", fmt::join(names_of(files), ", "));
}

/// "them" that "stay", or "it" that "stays".
struct Pronoun {
  std::string_view object, stay;
};
Pronoun pronoun_of(const std::vector<tuner::WrittenFile>& files) {
  return files.size() == 1 ? Pronoun{"it", "stays as it is"} : Pronoun{"them", "stay as they are"};
}

std::string files_text(const tuner::WrittenFiles& files) {
  const std::string where = files.kind == "copy" ? "a copy of your folder" : "a private view of your folder";
  if (files.inside.empty()) return fmt::format("it wrote none; each run works in {}", where);
  const auto [them, stay] = pronoun_of(files.inside);
  return fmt::format("{}: each run writes {} into {}, and yours {}", names_text(files.inside), them, where, stay);
}

/// The folder that holds all of them; empty: there is none but the root, or the command's.
fs::path folder_around(const std::vector<tuner::WrittenFile>& files) {
  const auto is_below = [](const fs::path& file, const fs::path& folder) {
    const fs::path below = file.lexically_relative(folder);
    return !below.empty() && *below.begin() != "..";
  };
  fs::path common = fs::path(files.front().path).parent_path();
  for (const tuner::WrittenFile& file : files)
    while (common.has_relative_path() && !is_below(file.path, common)) common = common.parent_path();
  return common.has_relative_path() ? common : fs::path();
}

/// What it prepared, so that each run would again. Empty: little, or nothing.
std::string preparation_text(const tuner::WrittenFiles& files) {
  std::int64_t bytes = 0;
  for (const tuner::WrittenFile& file : files.prepared) bytes += file.bytes;
  if (bytes < kWorthPreparing) return {};
  const fs::path folder = folder_around(files.prepared);
  const bool named = files.prepared.size() < kToCount || folder.empty();
  return fmt::format(
      "{} ({}) before its first step, and so would each run: let it run without Nocturne until it trains, once, or "
      "name a folder that the runs may change by --share",
      named ? names_text(files.prepared) : fmt::format("{} files in {}", files.prepared.size(), folder.string()),
      bytes_text(bytes));
}

std::string files_lines(const tuner::WrittenFiles& files, bool outside_is_real) {
  std::string text = labelled("files", files_text(files));
  if (!files.outside.empty()) {
    const auto [them, stay] = pronoun_of(files.outside);
    const std::string private_too = fmt::format(
        "likewise private, and yours {} (real: in --share FOLDER, or everywhere by --writes-outside)", stay);
    text += labelled("outside", fmt::format("{}: {}", names_text(files.outside),
                                            outside_is_real ? fmt::format("each run writes {} for real, as "
                                                                          "--writes-outside says",
                                                                          them)
                                                            : private_too));
  }
  const std::string prepared = preparation_text(files);
  return prepared.empty() ? text : text + labelled("prepares", prepared);
}

}  // namespace

bool is_without_steps(const tuner::CommandProbe& seen) {
  return seen.timing == measure::Timing::Process && seen.training && !seen.training->framework.empty() &&
         seen.training->unit.empty();
}

std::string step_part_text(std::string_view part, const std::map<std::string, double>& shares) {
  return part == "forward" && !shares.contains("data") ? "all before backward" : std::string(part);
}

std::string cut_epochs_text(const measure::EpochEnds& cut) {
  return cut.every == 1 ? "two epochs" : fmt::format("{} epochs", 1 + cut.every);
}

std::string seen_training_text(const tuner::CommandProbe& seen, std::optional<double> epochs, bool outside_is_real) {
  const std::string files = seen.files ? files_lines(*seen.files, outside_is_real) : std::string();
  if (!seen.training || seen.training->framework.empty()) return files;
  const tuner::SeenTraining& training = *seen.training;
  std::string text = labelled("training", framework_name(training));
  if (!is_without_steps(seen))
    text += labelled("a step", step_text(training)) + labelled("it trains", length_text(training, epochs));
  if (const std::string between = epoch_end_text(seen); !between.empty())
    text += labelled("between", "epochs " + between);
  if (!training.share.empty()) text += labelled("its time", share_text(training));
  std::vector<std::string> levers, learnt;
  for (const tuner::SeenLever& each : training.levers)
    (each.lever.changes == measure::kChangesLearning ? learnt : levers).push_back(each.name);
  if (!levers.empty()) text += labelled("levers", fmt::format("{}", fmt::join(levers, ", ")));
  if (!learnt.empty()) text += labelled("and with", fmt::format("--allow batch: {}", fmt::join(learnt, ", ")));
  if (!training.refused.empty()) text += labelled("not offered", refusals_text(training));
  for (const std::string& note : training.notes) text += labelled("note", note);
  return text + files;
}

std::string trials_text(const TrialsAhead& ahead) {
  if (!(ahead.trial > 0)) return {};
  std::string text = "about " + seconds_text(ahead.trial) + " each";
  if (ahead.budget && ahead.has_room) {
    text += fmt::format(", so about {:.0f} in {}, which keep time for the comparison at the end",
                        std::max(1.0, ahead.search / ahead.trial), seconds_text(*ahead.budget));
  } else if (ahead.budget) {
    text += fmt::format(
        "; the comparison with the default at the end takes about {}, for which {} may be too short: --wall {}min has "
        "room",
        seconds_text(ahead.verdict), seconds_text(*ahead.budget), ahead.enough.count());
  }
  return labelled("trials", text);
}

}  // namespace nocturne::cli
