#include "tuner/cli/output/command_line.hpp"

#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"

namespace nocturne::cli {

void print_command(const Context& context, std::string_view heading, std::string_view command) {
  constexpr std::size_t kColumn = 10;
  *context.out << fmt::format("{:<{}}{}\n", heading, kColumn,
                              printable(broken_command(command, kColumn, context.columns)));
}

}  // namespace nocturne::cli
