#include "tuner/cli/output/json.hpp"

#include <ostream>
#include <utility>

#include "tuner/cli/output/document_schema.hpp"

namespace nocturne::cli {

void print_json(const Context& context, std::string_view schema, nlohmann::json document) {
  context.verbatim()
      << named_document(schema, std::move(document)).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
      << '\n';
}

}  // namespace nocturne::cli
