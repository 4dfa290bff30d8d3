#include "tuner/cli/output/json.hpp"

#include <ostream>

namespace nocturne::cli {

void print_json(const Context& context, const nlohmann::json& document) {
  *context.out << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace nocturne::cli
