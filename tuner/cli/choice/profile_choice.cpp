#include "tuner/cli/choice/profile_choice.hpp"

#include "tuner/cli/choice/campaign_choice.hpp"

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

deploy::Profile open_profile(const std::string& word, const Context& context) {
  const std::filesystem::path file = profile_file(word, context);
  auto profile = deploy::load_profile(file);
  if (profile) return *std::move(profile);
  std::error_code ignored;
  const bool there = std::filesystem::exists(file, ignored);
  refuse(context, there ? ExitCode::Usage : ExitCode::NotFound, profile.error());
}

}  // namespace nocturne::cli
