#include "tuner/cli/choice/slurm_options.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign_file/document_positions.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"

namespace nocturne::cli {
namespace {

constexpr std::int64_t kMostNodes = 10'000;

NumberCheck slurm_check(const tuner::SlurmKey& key) {
  if (key.text == nullptr) return whole_number(1, kMostNodes);
  if (key.placeholder.contains('|')) {
    return [words = key.placeholder](const std::string& text) {
      for (const auto word : words | std::views::split('|'))
        if (std::string_view(word.begin(), word.end()) == text) return std::string();
      return fmt::format("'{}' is none of {}", text, words);
    };
  }
  if (!key.passed_on) return {};
  return [](const std::string& text) {
    return tuner::is_slurm_word(text) ? std::string() : fmt::format("'{}' is no word that Slurm takes", text);
  };
}

}  // namespace

bool any_given(const SlurmWords& words) {
  return std::ranges::any_of(words, [](const auto& each) { return !each.second.empty(); });
}

std::string slurm_word(const SlurmWords& words, std::string_view name) {
  const auto found = words.find(name);
  return found == words.end() ? std::string() : found->second;
}

CLI::Option* add_slurm_option(CLI::App& subcommand, SlurmWords& words, const tuner::SlurmKey& key) {
  const std::string name(key.name);
  return add_value(subcommand, "--" + name, words[name], std::string(key.placeholder), std::string(key.help),
                   slurm_check(key));
}

std::vector<tuner::Setting> slurm_settings(const SlurmWords& words) {
  std::vector<tuner::Setting> settings;
  for (const tuner::SlurmKey& key : tuner::slurm_keys()) {
    const std::string text = slurm_word(words, key.name);
    if (text.empty()) continue;
    nlohmann::json value = text;
    if (key.text == nullptr) value = std::stoll(text);
    settings.push_back({.pointer = tuner::pointer_to(tuner::kSlurmPointer, key.name), .value = std::move(value)});
  }
  return settings;
}

const tuner::Infrastructure& slurm_site(const Context& context, const tuner::Registry& registry,
                                        const std::string& name, std::string_view place) {
  const auto* found =
      value_or_refuse(context, ExitCode::NotFound, registry.infrastructure(name), fmt::format("{}: ", place));
  if (found->scheduler != "slurm") {
    refuse(context, ExitCode::Usage,
           fmt::format("{}: the infrastructure '{}' has no Slurm (its scheduler: {})", place, found->name,
                       found->scheduler.empty() ? "none" : found->scheduler));
  }
  return *found;
}

std::string outside_of_share(const Context& context, const tuner::Infrastructure& site) {
  if (site.shared_folder.empty()) return {};
  const std::filesystem::path below = context.data_folder().lexically_relative(site.shared_folder);
  if (!below.empty() && *below.begin() != "..") return {};
  return fmt::format("the data folder {} is not below the folder that all nodes of '{}' share ({})",
                     context.data_folder().string(), site.name, site.shared_folder);
}

}  // namespace nocturne::cli
