#include "tuner/installation/invocation.hpp"

#include <system_error>
#include <vector>

#include "measure/run/shell_words.hpp"

namespace nocturne::tuner {
namespace {

std::vector<std::string>& invocation() {
  static std::vector<std::string> words = {"nocturne"};
  return words;
}

}  // namespace

void set_invocation(std::span<const std::string> words) {
  invocation().assign(words.begin(), words.end());
}

std::string command_text(std::initializer_list<std::string_view> words) {
  std::vector<std::string> all = invocation();
  for (const std::string_view word : words) all.emplace_back(word);
  return measure::shell_command(all);
}

std::string command_text(std::string_view subcommand, std::string_view quoted_words) {
  std::string text = command_text({subcommand});
  if (!quoted_words.empty()) text.append(" ").append(quoted_words);
  return text;
}

std::string file_word(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (error || !file.is_absolute()) return measure::shell_quote(file.string());
  const std::filesystem::path below = file.lexically_relative(here);
  const bool outside = below.empty() || *below.begin() == "..";
  return measure::shell_quote((outside ? file : below).string());
}

}  // namespace nocturne::tuner
