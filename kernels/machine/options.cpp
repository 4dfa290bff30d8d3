#include "kernels/machine/options.hpp"

#include <cmath>
#include <cstdlib>

namespace nocturne::machine {

std::variant<Options, std::string> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--seconds") {
      if (i + 1 == arguments.size()) return "--seconds needs a number";
      const std::string& text = arguments[++i];
      char* end = nullptr;
      const double seconds = std::strtod(text.c_str(), &end);
      if (end == text.c_str() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0 || seconds > 3600) {
        return "--seconds is '" + text + "'; it must be a number above 0 and at most 3600";
      }
      options.budget = std::chrono::duration<double>(seconds);
    } else {
      return "unknown option '" + argument + "'; see --help";
    }
  }
  return options;
}

const char* help_text() {
  return "nocturne-machine [--seconds S] [--json]\n"
         "\n"
         "Measures what this machine can do at best: multiplications with additions a second in f32 and bf16, and\n"
         "memory bandwidth (triad), each with one thread and with all CPUs this process may use.\n"
         "\n"
         "  --seconds S  time for all measurements together (default 6)\n"
         "  --json       print JSON instead of a table\n"
         "  --help       this text\n"
         "\n"
         "Exit codes: 0 measured, 1 a loop computed a wrong result, 2 wrong options.\n";
}

}  // namespace nocturne::machine
