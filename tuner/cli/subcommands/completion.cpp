// `nocturne completion SHELL`: a script that completes subcommands and options.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <expected>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"

namespace nocturne::cli {
namespace {

struct CompletionOptions {
  std::string shell;
};

/// An option as the scripts need it.
struct Flag {
  std::vector<std::string> long_names, short_names;
  std::string description;
  bool takes_value = false;
  std::vector<std::string> choices;  ///< values it takes, where they are few and known
};

/// What may follow the program's name, or a subcommand.
struct Words {
  std::string name, description;
  std::vector<Flag> flags;
  std::vector<std::string> choices;  ///< values of the first positional argument
};

/// CLI11 shows the members of a set as "{a,b,c}" in the option's type.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos || close < open) return choices;
  for (std::size_t start = open + 1; start <= close;) {
    const std::size_t end = std::min(type.find(',', start), close);
    choices.push_back(type.substr(start, end - start));
    start = end + 1;
  }
  return choices;
}

/// Descriptions are one line in all three shells.
std::string one_line_of(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Words words_of(const CLI::App& app) {
  Words words{.name = app.get_name(), .description = one_line_of(app.get_description()), .flags = {}, .choices = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      if (words.choices.empty()) words.choices = choices_of(*option);
      continue;
    }
    words.flags.push_back({.long_names = option->get_lnames(),
                           .short_names = option->get_snames(),
                           .description = one_line_of(option->get_description()),
                           .takes_value = option->get_items_expected_max() > 0,
                           .choices = choices_of(*option)});
  }
  return words;
}

std::vector<Words> subcommands_of(const CLI::App& root) {
  std::vector<Words> subcommands;
  for (const CLI::App* subcommand : root.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); }))
    subcommands.push_back(words_of(*subcommand));
  return subcommands;
}

std::vector<std::string> names_of(const Flag& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.long_names) names.push_back("--" + name);
  for (const std::string& name : flag.short_names) names.push_back("-" + name);
  return names;
}

/// In single quotes of a POSIX shell.
std::string shell_word(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  return result + "'";
}

// ---- bash ----------------------------------------------------------------------------------------------------------

std::string bash_flags(const Words& words) {
  std::vector<std::string> names;
  for (const Flag& flag : words.flags)
    for (std::string& name : names_of(flag)) names.push_back(std::move(name));
  return fmt::format("{}", fmt::join(names, " "));
}

/// Lines of `case "$subcommand $previous"`: what an option's value may be; none: left to bash, which completes file
/// names.
std::string bash_values(const Words& words, std::string_view subcommand) {
  std::string lines;
  for (const Flag& flag : words.flags) {
    if (!flag.takes_value) continue;
    for (const std::string& name : names_of(flag)) {
      lines += fmt::format("    '{} {}') COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n", subcommand, name,
                           shell_word(fmt::format("{}", fmt::join(flag.choices, " "))));
    }
  }
  return lines;
}

std::string bash_script(const Words& root, const std::vector<Words>& subcommands) {
  std::vector<std::string> names;
  std::string flags = fmt::format("    '') flags={} ;;\n", shell_word(bash_flags(root)));
  std::string choices, values = bash_values(root, "");
  for (const Words& subcommand : subcommands) {
    names.push_back(subcommand.name);
    flags += fmt::format("    {}) flags={} ;;\n", subcommand.name, shell_word(bash_flags(subcommand)));
    values += bash_values(subcommand, subcommand.name);
    if (!subcommand.choices.empty()) {
      choices += fmt::format("    {}) words={} ;;\n", subcommand.name,
                             shell_word(fmt::format("{}", fmt::join(subcommand.choices, " "))));
    }
  }
  return fmt::format(R"(# bash completion for nocturne; made by `nocturne completion bash`
_nocturne() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} subcommand='' flags='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    --) return ;;
    {}) subcommand=${{subcommand:-${{COMP_WORDS[i]}}}} ;;
    esac
  done
  COMPREPLY=()
  case "$subcommand $previous" in
{}  esac
  case $subcommand in
{}  esac
  case $subcommand in
    '') words={} ;;
{}  esac
  [[ $current == -* ]] && words=$flags
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _nocturne nocturne
)",
                     fmt::join(names, "|"), values, flags, shell_word(fmt::format("{}", fmt::join(names, " "))),
                     choices);
}

// ---- zsh -----------------------------------------------------------------------------------------------------------

/// Colons and brackets have a meaning in the specifications of _arguments and _describe.
std::string zsh_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_arguments(const Words& words, std::string_view indent) {
  std::string text;
  for (const Flag& flag : words.flags) {
    const std::string action = flag.choices.empty() ? "_files" : fmt::format("({})", fmt::join(flag.choices, " "));
    for (const std::string& name : names_of(flag)) {
      const bool is_long = name.starts_with("--");
      const std::string value = flag.takes_value ? fmt::format(":value:{}", action) : "";
      text += fmt::format(" \\\n{}{}", indent,
                          shell_word(fmt::format("{}{}[{}]{}", name, flag.takes_value && is_long ? "=" : "",
                                                 zsh_escaped(flag.description), value)));
    }
  }
  return text;
}

std::string zsh_script(const Words& root, const std::vector<Words>& subcommands) {
  std::string list, cases;
  for (const Words& subcommand : subcommands) {
    list +=
        fmt::format("    {}\n", shell_word(zsh_escaped(subcommand.name) + ":" + zsh_escaped(subcommand.description)));
    const std::string positional =
        subcommand.choices.empty() ? "*:file:_files" : fmt::format("1:choice:({})", fmt::join(subcommand.choices, " "));
    cases += fmt::format("    {}) _arguments{} \\\n      {} ;;\n", subcommand.name, zsh_arguments(subcommand, "      "),
                         shell_word(positional));
  }
  return fmt::format(R"(#compdef nocturne
# zsh completion for nocturne; made by `nocturne completion zsh`
_nocturne() {{
  local context state state_descr line
  typeset -A opt_args
  local -a subcommands
  subcommands=(
{}  )
  _arguments -C{} \
    '1:subcommand:->subcommand' '*::argument:->arguments'
  case $state in
  subcommand) _describe subcommand subcommands ;;
  arguments)
    case $words[1] in
{}    esac ;;
  esac
}}
if [[ $funcstack[1] == _nocturne ]]; then
  _nocturne "$@"
else
  compdef _nocturne nocturne
fi
)",
                     list, zsh_arguments(root, "    "), cases);
}

// ---- fish ----------------------------------------------------------------------------------------------------------

/// In single quotes of fish, where a backslash escapes.
std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_flags(const Words& words, std::string_view condition) {
  std::string lines;
  for (const Flag& flag : words.flags) {
    std::string line = fmt::format("complete -c nocturne -n '{}'", condition);
    for (const std::string& name : flag.long_names) line += " -l " + name;
    for (const std::string& name : flag.short_names) line += " -s " + name;
    if (flag.takes_value) line += flag.choices.empty() ? " -r" : " -x";
    if (!flag.choices.empty()) line += fmt::format(" -a '{}'", fmt::join(flag.choices, " "));
    lines += fmt::format("{} -d {}\n", line, fish_quoted(flag.description));
  }
  return lines;
}

std::string fish_script(const Words& root, const std::vector<Words>& subcommands) {
  std::string script = "# fish completion for nocturne; made by `nocturne completion fish`\n";
  script += fish_flags(root, "__fish_use_subcommand");
  for (const Words& subcommand : subcommands) {
    script += fmt::format("complete -c nocturne -n __fish_use_subcommand -f -a {} -d {}\n", subcommand.name,
                          fish_quoted(subcommand.description));
  }
  for (const Words& subcommand : subcommands) {
    const std::string condition = "__fish_seen_subcommand_from " + subcommand.name;
    script += fish_flags(subcommand, condition);
    if (!subcommand.choices.empty())
      script += fmt::format("complete -c nocturne -n '{}' -f -a '{}'\n", condition, fmt::join(subcommand.choices, " "));
  }
  return script;
}

/// bash, zsh, fish.
const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

/// The script for a shell. What follows an option that takes a value is left to the shell, which completes file names.
/// The error names the shells there are.
std::expected<std::string, std::string> completion_script(const CLI::App& root, std::string_view shell) {
  const Words words = words_of(root);
  const std::vector<Words> subcommands = subcommands_of(root);
  if (shell == "bash") return bash_script(words, subcommands);
  if (shell == "zsh") return zsh_script(words, subcommands);
  if (shell == "fish") return fish_script(words, subcommands);
  return std::unexpected(fmt::format("unknown shell '{}'; known: {}", shell, fmt::join(completion_shells(), ", ")));
}

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
  context.verbatim() << value_or_refuse(context, ExitCode::Usage, completion_script(*context.app, options.shell));
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_completion(CLI::App& subcommand) {
  return add_options<CompletionOptions>(subcommand);
}

}  // namespace nocturne::cli
