#include "tuner/cli/verbs/schema.hpp"

#include <ostream>

#include "tuner/campaign_file.hpp"

namespace nocturne::cli {

void setup(CLI::App& verb, SchemaOptions&) {
  verb.footer(
      "The same schema checks every campaign file that is read. It is JSON already: --json changes nothing.\n"
      "\n"
      "Example, for editors that know \"$schema\":\n"
      "  nocturne schema > campaign.schema.json");
}

ExitCode run(const SchemaOptions&, Context& context) {
  *context.out << tuner::campaign_schema();
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
