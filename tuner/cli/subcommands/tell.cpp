// `nocturne tell FOLDER`: what came of what was asked.

#include "tuner/cli/subcommand.hpp"

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/ask_tell/ask_tell.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/search_folder.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"

namespace nocturne::cli {
namespace {

struct TellOptions {
  std::string folder;
  std::vector<std::string> answers;  ///< none: lines of standard input
};

std::vector<std::string> lines_of(const TellOptions& options, const Context& context) {
  if (!options.answers.empty()) return options.answers;
  std::vector<std::string> lines;
  for (std::string line; context.in != nullptr && std::getline(*context.in, line);) lines.push_back(line);
  return lines;
}

void print_standing(const Context& context, const tuner::SearchStanding& standing) {
  *context.out << fmt::format("{} finished, {} of them failed; {} pending\n", standing.finished, standing.failed,
                              standing.pending);
  if (!standing.best) return;
  *context.out << fmt::format("best {:.6g}, number {}: {}\n", standing.best->estimate->value, standing.best->number,
                              settings_line(standing.best->configuration));
}

void setup(CLI::App& subcommand, TellOptions& options) {
  add_value(subcommand, "folder", options.folder, "FOLDER", "Where 'nocturne ask' began the search")->required();
  add_value(subcommand, "answer", options.answers, "ANSWER", "Answers as JSON (default: lines of standard input)");
  subcommand.footer(
      "An answer names what was asked, and says what came of it: a value, several values of one configuration, or\n"
      "a failure with its reason, from which the search learns, too. A later answer replaces an earlier one. What\n"
      "was measured without being asked is told by its configuration. Answers before a wrong one are stored.\n"
      "\n"
      "  {\"number\": 3, \"value\": 0.82}\n"
      "  {\"number\": 3, \"values\": [0.82, 0.79, 0.85]}\n"
      "  {\"number\": 4, \"failed\": \"out of memory\", \"outcome\": \"out_of_memory\"}\n"
      "  {\"configuration\": {\"depth\": 6, \"booster\": \"tree\"}, \"value\": 0.8}\n"
      "\n"
      "Examples:\n"
      "  nocturne tell search '{\"number\": 0, \"value\": 12.5}'\n"
      "  nocturne tell search < answers.jsonl");
}

/// Usage where a line is wrong, which is named.
ExitCode run(const TellOptions& options, Context& context) {
  const auto search = open_search(context, options.folder);
  std::int64_t told = 0, line_number = 0;
  for (const std::string& line : lines_of(options, context)) {
    ++line_number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto answer = tuner::answer_from_line(line);
    const auto number = answer ? search->tell(*answer) : std::unexpected(answer.error());
    if (!number) refuse(context, ExitCode::Usage, fmt::format("answer {}: {}", line_number, number.error()));
    ++told;
  }
  if (context.json) {
    print_json(context, "tell",
               {{"folder", options.folder}, {"told", told}, {"standing", standing_json(search->standing())}});
  } else {
    print_standing(context, search->standing());
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_tell(CLI::App& subcommand) {
  return add_options<TellOptions>(subcommand);
}

}  // namespace nocturne::cli
