#include "tuner/cli/measuring/campaign_source.hpp"

#include <filesystem>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/parse_number.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/deploy/profile.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {
namespace {

bool looks_like_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".json") || word.find('/') != std::string::npos ||
         std::filesystem::is_regular_file(word, ignored);
}

CampaignSource source_of_file(const Context& context, const db::Store* store, const std::string& file,
                              const space::Facts& facts) {
  const auto frameworks = frameworks_here(context, tuner::find_installation());
  auto spec = value_or_refuse(context, tuner::load_campaign(file, facts, frameworks.get()));
  CampaignSource source{.stored = {}, .spec = {}, .space = spec.space};
  if (store != nullptr) {
    auto all = store->list_campaigns();
    for (db::CampaignSummary& each : all) {
      if (each.name != spec.name || each.identity != spec.identity()) continue;
      if (!source.stored || each.generation > source.stored->generation) source.stored = std::move(each);
    }
  }
  source.spec = std::move(spec);
  return source;
}

/// " (machine.cores, machine.compilers have changed)": what the campaign names of the machine and is another now.
std::string changed_facts(const nlohmann::json& stored, const space::Facts& now) {
  const space::Facts then = tuner::stored_facts(stored);
  const std::string space = stored.value("space", nlohmann::json::object()).dump();
  std::string names;
  for (const auto& [name, fact] : then.all()) {
    const space::Fact* present = now.find(name);
    if (!space.contains(name) || (present != nullptr && *present == fact)) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "" : fmt::format(" ({} changed)", names);
}

std::expected<std::int64_t, WordError> trial_number(const std::string& word) {
  if (const auto number = space::parse_number<std::int64_t>(word)) return *number;
  return std::unexpected(WordError{.sentence = fmt::format("'{}' is no number of a trial", word)});
}

std::expected<space::Configuration, WordError> configuration_of_trial(const db::Store* store,
                                                                      const CampaignSource& source,
                                                                      const std::string& word) {
  const auto number = trial_number(word);
  if (!number) return std::unexpected(number.error());
  if (store == nullptr || !source.stored) {
    return std::unexpected(WordError{
        ExitCode::NotFound, fmt::format("there is no trial {}: nothing of this campaign was measured yet", word)});
  }
  return store->load_numbered_trial(source.stored->id, *number).trial.configuration;
}

std::expected<space::Configuration, WordError> best_configuration(const db::Store* store,
                                                                  const CampaignSource& source) {
  if (store != nullptr && source.stored) {
    auto answer = tuner::answer_of(*store, *source.stored);
    if (answer.best) return std::move(answer.best->trial.configuration);
  }
  return std::unexpected(WordError{ExitCode::NotFound, "there is no best yet: no trial of this campaign has trained"});
}

/// What was measured as the default, else what the campaign calls so.
space::Configuration default_configuration(const db::Store* store, const CampaignSource& source) {
  if (store != nullptr && source.stored) {
    if (auto trial = store->find_trial(source.stored->id, 0)) return std::move(trial->trial.configuration);
  }
  return source.space.default_configuration();
}

}  // namespace

void add_campaign_source(CLI::App& subcommand, CampaignSourceOptions& options) {
  add_value(subcommand, "--campaign", options.campaign, "FILE|NAME",
            "The campaign: its file, or its name in the database (default: the one opened last)");
  add_value(subcommand, "--generation", options.generation, "N",
            "Which generation of a named one (default: the one opened last)", whole_number(1));
}

CampaignSource find_campaign_source(const Context& context, const db::Store* store,
                                    const CampaignSourceOptions& options, const space::Facts& facts) {
  if (looks_like_file(options.campaign)) {
    if (!options.generation) return source_of_file(context, store, options.campaign, facts);
    refuse(context, ExitCode::Usage, "--generation goes with a campaign's name, not with a file");
  }
  if (store == nullptr) {
    refuse(context, ExitCode::NotFound,
           fmt::format("there is no database at {} yet; name a campaign file: --campaign FILE",
                       context.database().string()));
  }
  auto summary = choose_campaign(context, *store, {.name = options.campaign, .generation = options.generation});
  auto stored = value_or_refuse(context, ExitCode::Database, tuner::stored_space(*store, summary));
  for (const std::string& each : stored.without) *context.err << "Note: " << each << '\n';
  return {.stored = std::move(summary), .spec = {}, .space = std::move(stored.space)};
}

void read_spec(const Context& context, CampaignSource& source, const space::Facts& facts) {
  if (source.spec) return;
  const auto frameworks = frameworks_here(context, tuner::find_installation());
  auto spec =
      value_or_refuse(context, tuner::parse_campaign(source.stored->spec.dump(),
                                                     fmt::format("the stored campaign '{}'", source.stored->name), "/",
                                                     facts, frameworks.get()));
  if (spec.identity() != source.stored->identity) {
    refuse(context, ExitCode::Unavailable,
           fmt::format("'{}' would be another campaign on this machine as it is now{}; '{}' begins that one",
                       source.stored->name, changed_facts(source.stored->spec, spec.facts),
                       tuner::tune_command(source.stored->spec)));
  }
  source.space = spec.space;
  source.spec = std::move(spec);
}

std::expected<space::Configuration, WordError> configuration_of_word(const Context& context, const db::Store* store,
                                                                     const CampaignSource& source,
                                                                     const std::string& word) {
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos)
    return configuration_of_trial(store, source, word);
  if (word == "best") return best_configuration(store, source);
  if (word == "default") return default_configuration(store, source);
  if (word.find('=') != std::string::npos) {
    std::string settings;
    for (const char letter : word) {
      const bool between = letter == ' ' || letter == ',';
      if (!between) settings += letter;
      if (between && !settings.empty() && settings.back() != ',') settings += ',';
    }
    if (settings.ends_with(',')) settings.pop_back();
    auto configuration = read_configuration(source.space, default_configuration(store, source), settings);
    if (!configuration) return std::unexpected(WordError{.sentence = configuration.error()});
    return std::move(*configuration);
  }
  const std::filesystem::path file = profile_file(word, context);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    return std::unexpected(WordError{
        .sentence = fmt::format(
            "'{}' is no trial's number, not 'best' or 'default', no settings (name=value,…) and no profile", word)});
  }
  auto profile = deploy::load_profile(file);
  if (!profile) return std::unexpected(WordError{.sentence = profile.error()});
  if (const auto wrong = source.space.check(profile->configuration); !wrong.empty()) {
    return std::unexpected(
        WordError{.sentence = fmt::format("the profile {} is not of this campaign: {}", file.string(), wrong.front())});
  }
  return std::move(profile->configuration);
}

}  // namespace nocturne::cli
