// `nocturne schema NAME`: the JSON Schema of campaign files and of each document of `--json`.

#include "tuner/cli/subcommand.hpp"

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/nearest.hpp"
#include "tuner/campaign_file/space_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/schema/campaign_schema.hpp"
#include "tuner/schema/machine_schema.hpp"
#include "tuner/schema/registry_schema.hpp"
#include "tuner/schema/request_schema.hpp"

namespace nocturne::cli {
namespace {

struct SchemaOptions {
  std::string name;   ///< a document's name, or one of kInputs; empty: list them
  std::string check;  ///< a file with a document of --json
};

/// What is read, where the others are printed.
struct InputSchema {
  std::string_view name, read_from;
  std::string_view (*text)();
};
constexpr std::array kInputs = {
    InputSchema{"campaign", "campaign files", tuner::campaign_schema},
    InputSchema{"space-file", "what 'nocturne ask --space' reads", tuner::space_file_schema},
    InputSchema{"request", "what 'nocturne request' reads", tuner::request_schema},
    InputSchema{"registry", "files of infrastructures, fragments and images", tuner::registry_schema},
    InputSchema{"machine-file", "what 'nocturne machine import' reads", tuner::machine_schema}};

std::vector<DocumentName> all_names() {
  auto names = document_names();
  for (std::size_t i = 0; i < kInputs.size(); ++i) {
    names.insert(names.begin() + static_cast<std::ptrdiff_t>(i),
                 {.name = std::string(kInputs[i].name), .printed_by = std::string(kInputs[i].read_from)});
  }
  return names;
}

ExitCode list_schemas(const Context& context) {
  const auto names = all_names();
  if (context.json) {
    auto document = nlohmann::json::array();
    for (const auto& [name, printed_by] : names) document.push_back({{"name", name}, {"explanation", printed_by}});
    print_json(context, "list-names", {{"names", std::move(document)}});
    return ExitCode::Ok;
  }
  Table table({{"schema"}, {"of", Align::Left, Fit::Wraps}});
  for (const auto& [name, printed_by] : names) table.add({Cell(name, Style::Strong), Cell(printed_by)});
  table.print(context);
  return ExitCode::Ok;
}

ExitCode check_document(const Context& context, const std::string& file) {
  const auto document = nlohmann::json::parse(text_or_refuse(context, file), nullptr, false, /*ignore_comments=*/true);
  if (document.is_discarded()) return complain(context, ExitCode::Usage, fmt::format("{} is not JSON", file));
  if (document.is_object() && document.contains("campaign") && !document.contains("schema")) {
    return complain(context, ExitCode::Usage,
                    fmt::format("{} is a campaign file, which is checked when it is read: {}", file,
                                tuner::command_text({"tune", file, "--dry-run"})));
  }
  const auto found = deviations(document);
  for (const std::string& each : found) *context.out << file << ": " << each << '\n';
  return found.empty() ? ExitCode::Ok : ExitCode::Negative;
}

void setup(CLI::App& subcommand, SchemaOptions& options) {
  auto* name = subcommand.add_option(
      "name", options.name,
      "Name of a document, 'campaign', 'space-file', 'request', 'registry' or 'machine-file' (default: list them)");
  name->type_name("NAME");
  add_value(subcommand, "--check", options.check, "FILE",
            "Say where the document in this file deviates from the schema it names")
      ->excludes(name);
  subcommand.footer(
      "Each document of --json names its schema in the key 'schema'; its 'version' changes when the document does.\n"
      "'campaign' checks every campaign file that is read, 'request' every request, 'registry' what is registered.\n"
      "\n"
      "Examples:\n"
      "  nocturne schema campaign > campaign.schema.json\n"
      "  nocturne schema best");
}

ExitCode run(const SchemaOptions& options, Context& context) {
  if (!options.check.empty()) return check_document(context, options.check);
  if (options.name.empty()) return list_schemas(context);
  for (const InputSchema& input : kInputs) {
    if (options.name != input.name) continue;
    context.verbatim() << input.text();
    return ExitCode::Ok;
  }
  const auto schema = document_schema(options.name);
  if (!schema) {
    std::vector<std::string> names;
    for (const auto& each : all_names()) names.push_back(each.name);
    return complain(context, ExitCode::Usage,
                    fmt::format("there is no schema '{}'{}; 'nocturne schema' lists them", options.name,
                                space::did_you_mean(options.name, names)));
  }
  context.verbatim() << schema->dump(2) << '\n';
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_schema(CLI::App& subcommand) {
  return add_options<SchemaOptions>(subcommand);
}

}  // namespace nocturne::cli
