// Reads what other people may have edited: each value is checked before anything is executed from it.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/json_field.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

using nlohmann::json;

/// Keeps the first error; after it every read gives a default.
class Reader {
 public:
  Reader(const json& document, std::string pointer, std::string& error)
      : document_(document), pointer_(std::move(pointer)), error_(error) {
    if (!document_.is_object()) fail("", "an object");
  }

  [[nodiscard]] Reader inside(const std::string& key) const {
    static const json kNothing = json::object();
    const json* value = find(key, "an object", is_anything);
    return {value != nullptr ? *value : kNothing, pointer_ + "/" + key, error_};
  }
  [[nodiscard]] bool has(const std::string& key) const { return document_.is_object() && document_.contains(key); }

  [[nodiscard]] std::string text(const std::string& key) const {
    const json* value = find(key, "a text", &json::is_string);
    auto result = value != nullptr ? value->get<std::string>() : std::string();
    // Words, variables and paths end at a NUL for the system: what is checked must be what is executed.
    if (result.contains('\0')) fail(key, "a text without a NUL");
    return result;
  }
  [[nodiscard]] std::filesystem::path path(const std::string& key) const {
    const std::filesystem::path result = text(key);
    if (error_.empty() && !result.is_absolute()) fail(key, "an absolute path");
    return result;
  }
  [[nodiscard]] double number(const std::string& key) const {
    const auto fits = [](const json& value) { return value.is_number() && std::isfinite(value.get<double>()); };
    const json* value = find(key, "a number", fits);
    return value != nullptr ? value->get<double>() : 0;
  }
  [[nodiscard]] std::int64_t integer(const std::string& key) const {
    const auto fits = [](const json& value) { return value.is_number_integer() && value.get<std::int64_t>() >= 0; };
    const json* value = find(key, "a whole number of at least 0", fits);
    return value != nullptr ? value->get<std::int64_t>() : 0;
  }
  [[nodiscard]] bool boolean(const std::string& key) const {
    const json* value = find(key, "true or false", &json::is_boolean);
    return value != nullptr && value->get<bool>();
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const {
    const auto fits = [](const json& value) { return value.is_array() && std::ranges::all_of(value, is_whole_text); };
    const json* value = find(key, "a list of texts", fits);
    return value != nullptr ? value->get<std::vector<std::string>>() : std::vector<std::string>();
  }
  [[nodiscard]] std::map<std::string, std::string> map_of_texts(const std::string& key) const {
    const auto fits = [](const json& value) { return value.is_object() && std::ranges::all_of(value, is_whole_text); };
    const json* value = find(key, "an object of texts", fits);
    return value != nullptr ? value->get<std::map<std::string, std::string>>() : std::map<std::string, std::string>();
  }
  [[nodiscard]] std::vector<int> cpus(const std::string& key) const {
    const auto is_cpu = [](const json& each) {
      return each.is_number_integer() && each.get<std::int64_t>() >= 0 && each.get<std::int64_t>() <= 65535;
    };
    const json* value = find(key, "a list of CPU numbers",
                             [&](const json& list) { return list.is_array() && std::ranges::all_of(list, is_cpu); });
    return value != nullptr ? value->get<std::vector<int>>() : std::vector<int>();
  }
  [[nodiscard]] space::Configuration configuration(const std::string& key) const {
    const json* value = find(key, "an object", is_anything);
    if (value == nullptr) return {};
    auto result = space::Configuration::from_json(*value);
    if (!result) {
      if (error_.empty()) error_ = fmt::format("{}/{}: {}", pointer_, key, result.error());
      return {};
    }
    return *result;
  }
  [[nodiscard]] std::vector<measure::ContainerMount> mounts(const std::string& key) const {
    std::vector<measure::ContainerMount> result;
    const json* value = find(key, "a list of mounts", &json::is_array);
    for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
      const Reader mount((*value)[i], fmt::format("{}/{}/{}", pointer_, key, i), error_);
      result.push_back({.path = mount.path("path"), .writable = mount.boolean("writable")});
    }
    return result;
  }
  void fail(const std::string& key, std::string_view expected) const {
    if (error_.empty()) error_ = fmt::format("{}{}{}: expected {}", pointer_, key.empty() ? "" : "/", key, expected);
  }

 private:
  static bool is_anything(const json& /*value*/) { return true; }
  static bool is_whole_text(const json& value) {
    return value.is_string() && !value.get_ref<const std::string&>().contains('\0');
  }

  /// Null: it is missing, or does not fit, and that was said.
  template <typename Fits>
  const json* find(const std::string& key, std::string_view expected, const Fits& fits) const {
    if (!has(key)) {
      fail(key, fmt::format("{}, found nothing", expected));
      return nullptr;
    }
    const json& value = document_.at(key);
    if (std::invoke(fits, value)) return &value;
    fail(key, expected);
    return nullptr;
  }

  const json& document_;
  std::string pointer_;
  std::string& error_;
};

void read_launch(const Reader& launch, measure::LaunchSettings& settings) {
  settings.set = launch.map_of_texts("environment");
  settings.unset = launch.texts("unset");
  settings.cpus = launch.cpus("cpus");
  if (launch.has("memory_policy")) {
    const Reader policy = launch.inside("memory_policy");
    settings.memory = {.mode = policy.text("mode"), .nodes = policy.cpus("nodes")};
    // It becomes a word of a command.
    if (!measure::is_memory_policy(settings.memory)) policy.fail("mode", "local; or interleave, bind, with nodes");
  }
  for (const std::string& library : launch.texts("preload")) {
    settings.preload.emplace_back(library);
    // The loader separates the entries of LD_PRELOAD by colons and spaces.
    if (!settings.preload.back().is_absolute() || library.find_first_of(": ") != std::string::npos)
      launch.fail("preload", "absolute paths without colons and spaces");
  }
  for (const auto& [name, value] : settings.set)
    if (!is_variable_name(name))
      launch.fail("environment", fmt::format("names of variables, found '{}'", comment_text(name)));
  for (const std::string& name : settings.unset)
    if (!is_variable_name(name))
      launch.fail("unset", fmt::format("names of variables, found '{}'", comment_text(name)));
}

std::optional<ProfileContainer> read_container(const Reader& root) {
  if (!root.has("container")) return std::nullopt;
  const Reader section = root.inside("container");
  ProfileContainer container{.runtime = section.text("runtime"),
                             .version = section.text("version"),
                             .image = section.text("image"),
                             .digest = section.text("digest"),
                             .by_packages = section.boolean("by_packages"),
                             .mounts = section.mounts("mounts"),
                             .gpu = section.boolean("gpu")};
  const measure::ContainerRuntime* runtime = measure::find_container_runtime(container.runtime);
  if (runtime == nullptr) {
    section.fail("runtime", "charliecloud, apptainer, podman or docker");
  } else if (!runtime->keeps_images()) {
    container.root = section.path("root");
    if (section.has("form")) {
      container.form = section.text("form");
      container.file = section.path("file");
      if (std::ranges::find(runtime->forms(), container.form, &measure::ImageForm::name) == runtime->forms().end())
        section.fail("form", "a form of image that the runtime has");
    }
  } else {
    container.reference = section.text("reference");
    // It becomes a word of the runtime's command line, so nothing but an id may stand there.
    const std::size_t begin = container.reference.starts_with("sha256:") ? 7 : 0;
    if (!space::is_sha256(std::string_view(container.reference).substr(begin)))
      section.fail("reference", "the id of an image, 64 digits");
  }
  return container;
}

/// Everything in it becomes words of a command.
void read_own_command(const Reader& training, const json& document, Profile& profile) {
  if (!training.has("own_command")) return;
  const json& command = document.at("training").at("own_command");
  const auto read = measure::command_from_json(command);
  if (!read) return training.fail("own_command", "a command, which it is not: " + read.error());
  if (!read->folder.is_absolute()) return training.fail("own_command/folder", "an absolute path");
  for (const auto& [name, text] : read->environment)
    if (!is_variable_name(name)) training.fail("own_command/environment", "names of variables");
  profile.training.own_command = command;
  if (const auto words = own_words(profile); !words) training.fail("own_command", words.error());
}

void read_workload_of(const Reader& section, space::Workload& workload) {
  workload.network = section.text("network");
  workload.data = section.text("data");
  workload.optimizer = section.text("optimizer");
  workload.training_examples = section.integer("training_examples");
  if (section.has("data_folder")) workload.data_folder = section.path("data_folder").string();
  if (section.has("skip_broken")) workload.skip_broken = section.boolean("skip_broken");
  for (const auto& [key, target] : {std::pair{"learning_rate", &workload.learning_rate},
                                    {"momentum", &workload.momentum},
                                    {"weight_decay", &workload.weight_decay},
                                    {"label_smoothing", &workload.label_smoothing}}) {
    if (section.has(key)) *target = section.number(key);
  }
}

std::optional<space::Estimate> read_estimate(const Reader& root) {
  if (!root.has("estimate")) return std::nullopt;
  const Reader estimate = root.inside("estimate");
  return space::Estimate{.value = estimate.number("seconds"),
                         .standard_error = estimate.number("standard_error"),
                         .runs = static_cast<int>(estimate.integer("runs"))};
}

std::optional<StepForecast> read_step(const Reader& root) {
  if (!root.has("step")) return std::nullopt;
  const Reader section = root.inside("step");
  const StepForecast step{.seconds = section.number("seconds"),
                          .sd = section.number("sd"),
                          .degrees = section.number("degrees"),
                          .processes = static_cast<int>(section.integer("processes"))};
  const bool usable = step.seconds > 0 && step.sd >= 0 && step.sd <= kMostSd && step.degrees >= 2 && step.processes > 0;
  if (!usable) section.fail("", "seconds and processes above 0, sd from 0 to 1, degrees of at least 2");
  return step;
}

void read_sources(const Reader& section, Training& training) {
  if (section.has("versions")) training.versions = section.map_of_texts("versions");
  if (!section.has("sources")) return;
  for (auto& [file, digest] : section.map_of_texts("sources")) {
    if (!std::filesystem::path(file).is_absolute() || !(digest.empty() || space::is_sha256(digest)))
      return section.fail("sources", "absolute paths, and 64 hexadecimal digits or nothing of each");
    training.sources[file] = digest;
  }
}

std::optional<Gain> read_gain(const Reader& root) {
  if (!root.has("verdict")) return std::nullopt;
  const Reader verdict = root.inside("verdict");
  return Gain{.verdict = verdict.text("verdict"),
              .epochs = verdict.number("epochs"),
              .gain_percent = verdict.number("gain_percent"),
              .low_percent = verdict.number("low_percent"),
              .high_percent = verdict.number("high_percent"),
              .confidence = verdict.number("confidence"),
              .pairs = verdict.integer("pairs"),
              .baseline = verdict.configuration("baseline")};
}

void read_measured_on(const Reader& section, MeasuredOn& measured_on) {
  measured_on.fingerprint = section.text("fingerprint");
  for (const auto& [key, match] : {std::pair{"must_match", space::Match::Must}, {"verify", space::Match::Verify}})
    for (const auto& [name, value] : section.map_of_texts(key))
      measured_on.machine.set({.name = name, .value = value, .match = match});
}

Training read_training(const Reader& section) {
  Training training = {.program = section.path("program"),
                       .arguments = section.texts("arguments"),
                       .artifact = section.text("artifact"),
                       .data_folder = section.path("data_folder"),
                       .seed = static_cast<std::uint64_t>(section.integer("seed")),
                       .steps = section.integer("steps"),
                       .steps_per_sample = section.integer("steps_per_sample"),
                       .partial_batch = section.text("partial_batch")};
  if (section.has("recipe")) training.recipe = section.text("recipe");
  if (section.has("packages")) training.packages = section.texts("packages");
  if (section.has("python")) training.python = section.text("python");
  if (training.python.find_first_not_of("0123456789.abcr") != std::string::npos)
    section.fail("python", "a version, such as 3.11.2");
  if (section.has("fix_ups")) training.fix_ups = section.texts("fix_ups");
  if (section.has("libraries")) {
    for (const std::string& library : section.texts("libraries")) training.libraries.emplace_back(library);
    if (std::ranges::any_of(training.libraries, [](const auto& each) { return !each.is_absolute(); }))
      section.fail("libraries", "absolute paths");
  }
  read_sources(section, training);
  if (training.partial_batch != "drop" && training.partial_batch != "train")
    section.fail("partial_batch", "drop or train");
  return training;
}

}  // namespace

std::expected<Profile, std::string> profile_from_json(const json& document) {
  std::string error;
  const Reader root(document, "", error);
  Profile profile;
  // First, for a newer version may have other fields: the version is then what to say, not a field that is missing.
  if (error.empty() && root.integer("profile") > kProfileVersion) {
    return std::unexpected(fmt::format("this profile has version {}; this nocturne reads up to version {}",
                                       root.integer("profile"), kProfileVersion));
  }
  const Reader campaign = root.inside("campaign");
  profile.campaign = campaign.text("name");
  profile.identity = campaign.text("identity");
  profile.generation = campaign.integer("generation");
  profile.trial = campaign.integer("trial");
  read_workload_of(root.inside("workload"), profile.workload);
  const Reader objective = root.inside("objective");
  profile.minimise = objective.text("minimise");
  profile.epochs = objective.number("epochs");
  profile.configuration = root.configuration("configuration");
  profile.estimate = read_estimate(root);
  profile.step = read_step(root);
  profile.gain = read_gain(root);
  if (root.has("forced")) profile.forced = root.text("forced");
  if (root.has("effects")) profile.effects = root.map_of_texts("effects");
  read_measured_on(root.inside("measured_on"), profile.measured_on);
  const Reader training = root.inside("training");
  profile.training = read_training(training);
  read_own_command(training, document, profile);
  read_launch(root.inside("launch"), profile.launch);
  profile.container = read_container(root);
  if (root.has("peak_bytes")) profile.peak_bytes = root.integer("peak_bytes");
  profile.repeat = root.text("repeat");
  const Reader nocturne = root.inside("nocturne");
  profile.nocturne_version = nocturne.text("version");
  profile.nocturne_commit = nocturne.text("commit");
  profile.created = root.text("created");
  if (!error.empty()) return std::unexpected(error);
  if (!root.has("default")) return profile;
  auto of_default = profile_from_json(document.at("default"));
  if (!of_default) return std::unexpected("/default" + of_default.error());
  of_default->of_default.clear();
  profile.of_default.push_back(*std::move(of_default));
  return profile;
}

std::expected<Profile, std::string> load_profile(const std::filesystem::path& file) {
  constexpr std::size_t kLimit = 1 << 20;  // a profile has some kilobytes
  const auto text = space::read_file(file, kLimit + 1);
  if (!text) {
    // read_file() does not say why; a folder can be accessed and not be read.
    const int reason = ::access(file.c_str(), R_OK) == 0 ? EISDIR : errno;
    return std::unexpected(
        fmt::format("cannot read the profile {}: {}{}", file.string(), std::generic_category().message(reason),
                    reason == ENOENT ? fmt::format("; '{}' writes those of campaigns", tuner::command_text({"export"}))
                                     : std::string()));
  }
  if (text->size() > kLimit)
    return std::unexpected(fmt::format("{} is no profile: it is larger than 1 MiB", file.string()));
  if (space::is_nested_too_deep(*text)) {
    return std::unexpected(fmt::format("{} is no profile: its brackets are nested more than {} deep", file.string(),
                                       space::kDeepestNesting));
  }
  const json document = json::parse(*text, nullptr, false);
  if (document.is_discarded()) return std::unexpected(fmt::format("{} is no profile: it is not JSON", file.string()));
  auto profile = profile_from_json(document);
  if (!profile) return std::unexpected(fmt::format("{} is no usable profile: {}", file.string(), profile.error()));
  return profile;
}

}  // namespace nocturne::deploy
