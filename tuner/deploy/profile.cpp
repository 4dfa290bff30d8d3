#include "tuner/deploy/profile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {

namespace {

nlohmann::json container_json(const ProfileContainer& container) {
  nlohmann::json mounts = nlohmann::json::array();
  for (const measure::ContainerMount& mount : container.mounts)
    mounts.push_back({{"path", mount.path.string()}, {"writable", mount.writable}});
  nlohmann::json document = {
      {"runtime", container.runtime}, {"version", container.version},         {"image", container.image},
      {"digest", container.digest},   {"by_packages", container.by_packages}, {"mounts", mounts},
      {"gpu", container.gpu}};
  if (!container.root.empty()) document["root"] = container.root.string();
  if (!container.reference.empty()) document["reference"] = container.reference;
  if (!container.form.empty()) document["form"] = container.form;
  if (!container.file.empty()) document["file"] = container.file.string();
  return document;
}

nlohmann::json gain_json(const Gain& gain) {
  return {{"verdict", gain.verdict},
          {"epochs", gain.epochs},
          {"gain_percent", gain.gain_percent},
          {"low_percent", gain.low_percent},
          {"high_percent", gain.high_percent},
          {"confidence", gain.confidence},
          {"pairs", gain.pairs},
          {"baseline", gain.baseline.to_json()}};
}

nlohmann::json training_json(const Training& training) {
  nlohmann::json document = {{"program", training.program.string()},
                             {"arguments", training.arguments},
                             {"artifact", training.artifact},
                             {"data_folder", training.data_folder.string()},
                             {"seed", training.seed},
                             {"steps", training.steps},
                             {"steps_per_sample", training.steps_per_sample},
                             {"partial_batch", training.partial_batch}};
  if (!training.recipe.empty()) document["recipe"] = training.recipe;
  if (!training.packages.empty()) document["packages"] = training.packages;
  if (!training.python.empty()) document["python"] = training.python;
  if (!training.fix_ups.empty()) document["fix_ups"] = training.fix_ups;
  for (const auto& library : training.libraries) document["libraries"].push_back(library.string());
  if (training.own_command.is_object()) document["own_command"] = training.own_command;
  for (const auto& [file, digest] : training.sources) document["sources"][file.string()] = digest;
  if (!training.versions.empty()) document["versions"] = training.versions;
  return document;
}

}  // namespace

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json must = nlohmann::json::object();
  nlohmann::json verify = nlohmann::json::object();
  for (const space::FingerprintField& field : profile.measured_on.machine.fields())
    (field.match == space::Match::Must ? must : verify)[field.name] = field.value;
  nlohmann::json preload = nlohmann::json::array();
  for (const std::filesystem::path& library : profile.launch.preload) preload.push_back(library.string());
  nlohmann::json document = {
      {"profile", kProfileVersion},
      {"campaign",
       {{"name", profile.campaign},
        {"identity", profile.identity},
        {"generation", profile.generation},
        {"trial", profile.trial}}},
      {"workload", space::to_json(profile.workload)},
      {"objective", {{"minimise", profile.minimise}, {"epochs", profile.epochs}}},
      {"configuration", profile.configuration.to_json()},
      {"measured_on", {{"fingerprint", profile.measured_on.fingerprint}, {"must_match", must}, {"verify", verify}}},
      {"training", training_json(profile.training)},
      {"launch",
       {{"environment", profile.launch.set},
        {"unset", profile.launch.unset},
        {"cpus", profile.launch.cpus},
        {"preload", preload}}},
      {"repeat", profile.repeat},
      {"nocturne", {{"version", profile.nocturne_version}, {"commit", profile.nocturne_commit}}},
      {"created", profile.created},
  };
  if (const measure::MemoryPolicy& memory = profile.launch.memory; memory.is_set())
    document["launch"]["memory_policy"] = {{"mode", memory.mode}, {"nodes", memory.nodes}};
  if (profile.container) document["container"] = container_json(*profile.container);
  if (profile.peak_bytes) document["peak_bytes"] = *profile.peak_bytes;
  if (profile.estimate) {
    document["estimate"] = {{"seconds", profile.estimate->value},
                            {"standard_error", profile.estimate->standard_error},
                            {"runs", profile.estimate->runs}};
  }
  if (profile.step) {
    document["step"] = {{"seconds", profile.step->seconds},
                        {"sd", profile.step->sd},
                        {"degrees", profile.step->degrees},
                        {"processes", profile.step->processes}};
  }
  if (!profile.of_default.empty()) document["default"] = to_json(profile.of_default.front());
  if (profile.gain) document["verdict"] = gain_json(*profile.gain);
  if (!profile.forced.empty()) document["forced"] = profile.forced;
  if (!profile.effects.empty()) document["effects"] = profile.effects;
  return document;
}

std::string gain_text(const Gain& gain) {
  const std::string horizon = fmt::format("for {:g} epoch{}", gain.epochs, gain.epochs == 1 ? "" : "s");
  const std::string evidence =
      fmt::format("({:+.1f} %, {:g} % interval {:+.1f} to {:+.1f} %, {} pair{})", gain.gain_percent,
                  gain.confidence * 100, gain.low_percent, gain.high_percent, gain.pairs, gain.pairs == 1 ? "" : "s");
  if (gain.verdict == "faster")
    return fmt::format("is {:.2f} times as fast as the default {} {}", 1 + gain.gain_percent / 100, horizon, evidence);
  if (gain.verdict == "slower") return fmt::format("is slower than the default {} {}", horizon, evidence);
  if (gain.verdict == "same") return fmt::format("is as fast as the default {} {}", horizon, evidence);
  return fmt::format("is not distinguished from the default {} {}", horizon, evidence);
}

std::string proof_comments(const Profile& profile, std::string_view subject) {
  std::string text;
  if (profile.gain) text += fmt::format("# {} {}.\n", subject, comment_text(gain_text(*profile.gain)));
  if (!profile.forced.empty()) text += fmt::format("# Exported by force: {}.\n", comment_text(profile.forced));
  return text;
}

std::string file_stem(std::string_view campaign) {
  std::string stem;
  for (const char c : campaign) {
    const bool harmless = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                          c == '-' || (c == '.' && !stem.empty());
    stem += harmless ? c : '-';
  }
  // A leading dash would be taken for an option by whoever is given the file.
  if (stem.starts_with('-')) stem.front() = '_';
  stem.resize(std::min<std::size_t>(stem.size(), 100));
  return stem.empty() ? "profile" : stem;
}

bool can_fall_back(const Profile& profile) {
  return !profile.of_default.empty() && profile.of_default.front().step;
}

std::string container_of(const Profile& profile) {
  const std::string name = profile.configuration.text_of("container");
  return name == "host" ? std::string() : name;
}

}  // namespace nocturne::deploy
