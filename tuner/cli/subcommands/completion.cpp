#include "tuner/cli/subcommands/completion.hpp"

#include <CLI/CLI.hpp>

#include <ostream>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/completion_script.hpp"

namespace nocturne::cli {

void setup(CLI::App& subcommand, CompletionOptions& options) {
  subcommand.add_option("shell", options.shell, "The shell")->required()->check(CLI::IsMember(completion_shells()));
  subcommand.footer(
      "Prints a script that completes subcommands, options and file names.\n"
      "\n"
      "Examples:\n"
      "  source <(nocturne completion bash)                                   in ~/.bashrc\n"
      "  nocturne completion zsh > ~/.zfunc/_nocturne                         a folder of $fpath\n"
      "  nocturne completion fish > ~/.config/fish/completions/nocturne.fish");
}

ExitCode run(const CompletionOptions& options, Context& context) {
  const auto script = completion_script(*context.app, options.shell);
  if (!script) return complain(context, ExitCode::Usage, script.error());
  context.verbatim() << *script;
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
