#include "tuner/cli/choice/profile_choice.hpp"

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {

std::filesystem::path profile_file(const std::string& word, const Context& context) {
  std::error_code ignored;
  std::filesystem::path named = context.profiles_folder() / (deploy::file_stem(word) + ".json");
  if (!std::filesystem::exists(word, ignored) && word.find('/') == std::string::npos &&
      std::filesystem::exists(named, ignored)) {
    return named;
  }
  return word;
}

namespace {

bool is_campaign(const Context& context, const std::string& name) {
  try {
    const auto store = open_known_database(context);
    return store && store->find_campaign(name);
  } catch (const db::Error&) {
    return false;
  }
}

}  // namespace

std::string unreadable_profile(const std::string& word, const std::string& error, const Context& context) {
  std::error_code ignored;
  if (std::filesystem::exists(profile_file(word, context), ignored) || !is_campaign(context, word)) return error;
  return fmt::format("campaign '{}' has no profile: '{}' writes one, or says what is missing", word,
                     tuner::command_text({"export", word}));
}

deploy::Profile open_profile(const std::string& word, const Context& context) {
  const std::filesystem::path file = profile_file(word, context);
  auto profile = deploy::load_profile(file);
  if (profile) return *std::move(profile);
  std::error_code ignored;
  const bool there = std::filesystem::exists(file, ignored);
  refuse(context, there ? ExitCode::Usage : ExitCode::NotFound, unreadable_profile(word, profile.error(), context));
}

}  // namespace nocturne::cli
