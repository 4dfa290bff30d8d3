#include "tuner/cli/manual_text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/installation/version.hpp"

namespace nocturne::cli {
namespace {

struct SubcommandGroup {
  std::string name;
  std::vector<const CLI::App*> subcommands;
};

std::vector<SubcommandGroup> subcommand_groups(const CLI::App& root) {
  std::vector<SubcommandGroup> groups;
  for (const CLI::App* app : root.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    const auto known = std::ranges::find(groups, app->get_group(), &SubcommandGroup::name);
    if (known != groups.end())
      known->subcommands.push_back(app);
    else
      groups.push_back({app->get_group(), {app}});
  }
  return groups;
}

/// Positionals first, as they are typed; without the help flag and the common options.
std::vector<const CLI::Option*> own_options(const CLI::App& app) {
  auto options = app.get_options([&app](const CLI::Option* option) {
    return option != app.get_help_ptr() && option->get_group() != kCommonOptions && !option->get_group().empty();
  });
  std::ranges::stable_partition(options, [](const CLI::Option* option) { return option->get_positional(); });
  return options;
}

std::vector<const CLI::Option*> common_options(const CLI::App& root) {
  return root.get_options([](const CLI::Option* option) { return !option->get_positional(); });
}

/// What stands behind an option's name: " FILE", " N=25".
std::string value_text(const CLI::Option& option) {
  const std::string type = option.get_type_name(), preset = option.get_default_str();
  return (type.empty() ? "" : " " + type) + (preset.empty() ? "" : "=" + preset);
}

/// What forbids an option, by name: CLI11 keeps them in the order of their addresses, which differs between runs.
std::string excluded_by(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const CLI::Option* other : option.get_excludes()) names.push_back(other->get_name());
  std::ranges::sort(names);
  return names.empty() ? "" : fmt::format(" (not with {})", fmt::join(names, ", "));
}

std::string option_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true, false) : option.get_name(false, true);
}

std::string usage_of(const CLI::App& app) {
  std::string usage = fmt::format("nocturne {} [OPTIONS]", app.get_name());
  for (const CLI::Option* option : own_options(app)) {
    if (!option->get_positional()) break;
    const bool many = option->get_expected_max() >= CLI::detail::expected_max_vector_size;
    const std::string name = option_name(*option) + (many ? "..." : "");
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// ---- Markdown ------------------------------------------------------------------------------------------------------

/// Characters that Markdown, or a cell of a table, would read as its own.
std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("|*<\\").contains(c)) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string code_cell(const std::string& text) {
  std::string result = "`";
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result + "`";
}

std::string option_table(const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return "";
  std::string text = "| option | meaning |\n| --- | --- |\n";
  for (const CLI::Option* option : options) {
    text += fmt::format("| {} | {}{} |\n", code_cell(option_name(*option) + value_text(*option)),
                        markdown_text(option->get_description()), markdown_text(excluded_by(*option)));
  }
  return text + "\n";
}

/// A footer: paragraphs, and indented lines as code.
std::string markdown_footer(const std::string& footer) {
  std::string text;
  bool code = false;
  for (const std::string& line : text_lines(filled(footer))) {
    const bool indented = line.starts_with("  ");
    if (indented && !code) text += text.ends_with("\n\n") || text.empty() ? "```\n" : "\n```\n";
    if (!indented && code) text += "```\n";
    code = indented;
    text += (indented ? line.substr(2) : markdown_text(line)) + "\n";
  }
  if (code) text += "```\n";
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string markdown_exit_codes() {
  std::string text;
  for (const std::string& line : text_lines(exit_code_table()))
    if (line.starts_with("  ")) text += line.substr(2) + "\n";
  return "## Exit codes\n\n```\n" + text + "```\n";
}

// ---- man -----------------------------------------------------------------------------------------------------------

/// groff_man(7): a backslash and a hyphen are escaped, a control character at a line's beginning is guarded.
std::string troff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    line_begins = c == '\n';
  }
  return result;
}

std::string man_options(const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    text += fmt::format(".TP\n.B {}\n{}\n", troff(option_name(*option) + value_text(*option)),
                        troff(option->get_description() + excluded_by(*option)));
  }
  return text;
}

std::string man_footer(const std::string& footer) {
  std::string text;
  bool code = false;
  for (const std::string& line : text_lines(filled(footer))) {
    const bool indented = line.starts_with("  ");
    if (indented != code) text += indented ? ".PP\n.nf\n" : ".fi\n";
    code = indented;
    text += line.empty() ? ".PP\n" : troff(indented ? line.substr(2) : line) + "\n";
  }
  return text + (code ? ".fi\n" : "");
}

std::string man_title(const std::string& name, std::string_view summary) {
  std::string capital = name;
  std::ranges::transform(capital, capital.begin(),
                         [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return fmt::format(".TH {} 1 \"\" \"nocturne {}\" \"Nocturne manual\"\n.SH NAME\n{} \\- {}\n", troff(capital),
                     troff(tuner::version()), troff(name), troff(summary));
}

std::string man_page(const CLI::App& root, const CLI::App& app) {
  std::string text = man_title("nocturne-" + app.get_name(), app.get_description());
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", troff(usage_of(app)));
  text += ".SH OPTIONS\n" + man_options(own_options(app)) + man_options(common_options(root));
  text += ".SH DESCRIPTION\n" + man_footer(app.get_footer());
  return text + ".SH SEE ALSO\n.BR nocturne (1)\n";
}

std::string man_overview(const CLI::App& root) {
  std::string text = man_title("nocturne", "tunes training deployments");
  text += ".SH SYNOPSIS\n.B nocturne\n[OPTIONS] SUBCOMMAND ...\n";
  text += ".SH DESCRIPTION\n" + troff(root.get_description()) + "\n";
  for (const SubcommandGroup& group : subcommand_groups(root)) {
    text += ".SS " + group.name + "\n";
    for (const CLI::App* app : group.subcommands)
      text += fmt::format(".TP\n.BR nocturne\\-{} (1)\n{}\n", app->get_name(), troff(app->get_description()));
  }
  return text + ".SH OPTIONS\n" + man_options(common_options(root)) + ".SH EXAMPLES AND EXIT CODES\n" +
         man_footer(root.get_footer());
}

/// A row for each group; `page`: where the links lead, the present page if empty.
std::string group_table(const CLI::App& root, std::string_view page) {
  std::string text = "| | |\n| --- | --- |\n";
  for (const SubcommandGroup& group : subcommand_groups(root)) {
    std::vector<std::string> links;
    for (const CLI::App* app : group.subcommands)
      links.push_back(fmt::format("[`{0}`]({1}#{0})", app->get_name(), page));
    text += fmt::format("| {} | {} |\n", group.name, fmt::join(links, " · "));
  }
  return text;
}

std::string markdown_section(const CLI::App& app) {
  return fmt::format("### {}\n\n{}\n\n    {}\n\n", app.get_name(), markdown_text(app.get_description()),
                     usage_of(app)) +
         option_table(own_options(app)) + markdown_footer(app.get_footer()) + "\n";
}

}  // namespace

std::string reference_markdown(const CLI::App& root) {
  std::string text =
      "# Command reference\n\n"
      "Printed by `nocturne manual`: edit the program, not this file. `nocturne SUBCOMMAND --help` says the same.\n\n" +
      group_table(root, "") + "\n## Common options\n\n" + option_table(common_options(root));
  for (const SubcommandGroup& group : subcommand_groups(root)) {
    text += fmt::format("## {}\n\n", group.name);
    for (const CLI::App* app : group.subcommands) text += markdown_section(*app);
  }
  return text + markdown_exit_codes();
}

std::string subcommand_table(const CLI::App& root) {
  return group_table(root, "docs/reference.md");
}

std::map<std::string, std::string> man_pages(const CLI::App& root) {
  std::map<std::string, std::string> pages = {{"nocturne.1", man_overview(root)}};
  for (const SubcommandGroup& group : subcommand_groups(root))
    for (const CLI::App* app : group.subcommands)
      pages.emplace(fmt::format("nocturne-{}.1", app->get_name()), man_page(root, *app));
  return pages;
}

}  // namespace nocturne::cli
