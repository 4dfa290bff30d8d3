// `nocturne infrastructure import FILE`: registers where jobs run.

#include "tuner/cli/subcommand.hpp"

#include <filesystem>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "space/write_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/registry/modak_import.hpp"

namespace nocturne::cli {
namespace {

struct InfrastructureOptions {
  std::string action;
  std::string file;
  bool replace = false;
};

void setup(CLI::App& subcommand, InfrastructureOptions& options) {
  add_value(subcommand, "action", options.action, "ACTION", "import")->required()->check([](const std::string& word) {
    return only_action(word, "import");
  });
  add_value(subcommand, "file", options.file, "FILE", "An infrastructure as MODAK's JSON has it")->required();
  subcommand.add_flag("--replace", options.replace, "Replace the one of the same name");
  subcommand.footer(
      "Writes ~/.config/nocturne/infrastructures/NAME.json, which may be edited: module lines, container runtime, "
      "shared and node-local folders. 'nocturne list infrastructures' shows what is registered; the target of a "
      "request names one.\n\n"
      "Examples:\n"
      "  nocturne infrastructure import testbed.json\n"
      "  nocturne list infrastructures\n");
}

ExitCode run(const InfrastructureOptions& options, Context& context) {
  const auto document =
      value_or_refuse(context, tuner::import_infrastructure(text_or_refuse(context, options.file), options.file));
  if (context.configuration_folder().empty())
    return complain(context, ExitCode::Unavailable, "there is no folder for it: HOME is not set");
  const std::string name = document.at("infrastructure");
  const std::filesystem::path file = context.configuration_folder() / "infrastructures" / (name + ".json");
  std::error_code ignored;
  if (!options.replace && std::filesystem::exists(file, ignored))
    return complain(context, ExitCode::Usage, fmt::format("{} is there already; --replace replaces it", file.string()));
  value_or_refuse(context, ExitCode::Unavailable, space::write_file(file, document.dump(2) + "\n"));
  if (context.json)
    print_json(context, "infrastructure", {{"name", name}, {"file", file.string()}});
  else
    context.verbatim() << file.string() << '\n';
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_infrastructure(CLI::App& subcommand) {
  return add_options<InfrastructureOptions>(subcommand);
}

}  // namespace nocturne::cli
