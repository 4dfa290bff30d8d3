#include "tuner/cli/output/colour.hpp"

#include <fmt/format.h>

namespace nocturne::cli {
namespace {

std::string_view code(Style style) {
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Good:
      return "32";
    case Style::Bad:
      return "31";
    case Style::Warning:
      return "33";
    case Style::Faint:
      return "2";
    case Style::Strong:
      return "1";
  }
  return "";
}

}  // namespace

std::string coloured(std::string_view text, Style style, bool enabled) {
  if (!enabled || style == Style::Plain || text.empty()) {
    return std::string(text);
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code(style), text);
}

}  // namespace nocturne::cli
