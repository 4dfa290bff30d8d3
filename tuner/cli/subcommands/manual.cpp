// `nocturne manual`: prints docs/reference.md, or writes man pages. Not shown in `--help`: it serves the build, the
// documentation and whoever makes a package.

#include "tuner/cli/subcommand.hpp"

#include <filesystem>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>

#include "space/write_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/manual_text.hpp"

namespace nocturne::cli {
namespace {

struct ManualOptions {
  bool table = false;      ///< print README.md's table of subcommands instead
  std::string man_folder;  ///< write man pages into this folder instead; empty: print Markdown
};

void setup(CLI::App& subcommand, ManualOptions& options) {
  auto* table = subcommand.add_flag("--table", options.table, "Print the table of subcommands that README.md shows");
  add_value(subcommand, "--man", options.man_folder, "DIR", "Write man pages into this folder, one for each subcommand")
      ->excludes(table);
  subcommand.footer(
      "Without an option it prints docs/reference.md.\n"
      "\n"
      "Examples:\n"
      "  nocturne manual > docs/reference.md\n"
      "  nocturne manual --man build/release/man/man1\n");
}

ExitCode run(const ManualOptions& options, Context& context) {
  if (options.man_folder.empty()) {
    context.verbatim() << (options.table ? subcommand_table(*context.app) : reference_markdown(*context.app));
    return ExitCode::Ok;
  }
  for (const auto& [name, text] : man_pages(*context.app)) {
    value_or_refuse(context, ExitCode::Unavailable,
                    space::write_file(std::filesystem::path(options.man_folder) / name, text));
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_manual(CLI::App& subcommand) {
  return add_options<ManualOptions>(subcommand);
}

}  // namespace nocturne::cli
