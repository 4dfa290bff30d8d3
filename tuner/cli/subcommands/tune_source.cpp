#include "tuner/cli/subcommands/tune_source.hpp"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {

std::expected<tuner::CampaignSpec, ExitCode> read_campaign(const TuneOptions& options, const Context& context,
                                                           const tuner::Installation& installation,
                                                           const space::Facts& facts,
                                                           const tuner::Frameworks* frameworks) {
  const auto refuse = [&](std::string_view sentence) {
    *context.err << "nocturne tune: " << sentence << "\nTry '" << tuner::command_text({"tune", "--help"}) << "'.\n";
    return std::unexpected(ExitCode::Usage);
  };
  if (!options.file.empty() && context.command_given) return refuse("a campaign file or a command, not both");
  if (!options.file.empty() || !context.command_given) {
    if (options.file.empty()) return refuse("file is required, or a command behind '--'");
    if (options.command.any())
      return refuse(
          "--name, --vary, --examples, --time, --pattern, --allow, --in-place, --share, --writes-outside and "
          "--write-campaign belong to a command behind '--'");
    auto spec = tuner::load_campaign(options.file, facts, frameworks);
    if (spec) return *std::move(spec);
    *context.err << tuner::to_text(spec.error()) << '\n';
    return std::unexpected(ExitCode::Usage);
  }
  if (context.command.empty() || context.command.front().empty()) return refuse("there is no command behind '--'");
  const bool budgeted = options.trials || !options.wall.empty() || !options.until.empty();
  const auto wall = tuner::parse_duration(options.wall);
  return command_campaign(options.command, budgeted, wall ? std::optional(*wall) : std::nullopt, context, installation,
                          facts);
}

std::string same_again(const Context& context) {
  std::vector<std::string> words = {context.program};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  const auto own_end = std::ranges::find(words, "--");
  words.erase(std::remove(words.begin(), own_end, "--fresh"), own_end);  // goes on, and begins nothing
  return deploy::shell_command(words);
}

}  // namespace nocturne::cli
