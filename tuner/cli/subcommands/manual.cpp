#include "tuner/cli/subcommands/manual.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <ostream>

#include "space/write_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/manual_text.hpp"

namespace nocturne::cli {

void setup(CLI::App& subcommand, ManualOptions& options) {
  auto* table = subcommand.add_flag("--table", options.table, "Print the table of subcommands that README.md shows");
  subcommand.add_option("--man", options.man_folder, "Write man pages into this folder, one for each subcommand")
      ->type_name("DIR")
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
    const auto written = space::write_file(std::filesystem::path(options.man_folder) / name, text);
    if (!written) return complain(context, ExitCode::Unavailable, written.error());
  }
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
