#include "tuner/cli/choice/profile_choice.hpp"

#include "tuner/deploy/profile.hpp"

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

}  // namespace nocturne::cli
