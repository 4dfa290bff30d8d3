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
      options.plan.budget = std::chrono::duration<double>(seconds);
    } else if (argument == "--disk") {
      if (i + 1 == arguments.size() || arguments[i + 1].empty()) return "--disk needs a folder";
      options.plan.disk = arguments[++i];
    } else {
      return "unknown option '" + argument + "'; see --help";
    }
  }
  return options;
}

const char* help_text() {
  return "nocturne-machine [--seconds S] [--disk FOLDER] [--json]\n"
         "\n"
         "Measures what this machine can do at best: multiplications with additions a second in f32 and bf16, bandwidth\n"
         "(triad) and latency (a chain of loads) of each cache and of memory, each with one thread and with all CPUs this\n"
         "process may use; where there are several NUMA nodes, each one's bandwidth and the latencies between them.\n"
         "\n"
         "  --seconds S    time for all measurements together (default 20)\n"
         "  --disk FOLDER  the disk of this folder too: at most 256 MiB are written to a file without a name, and read\n"
         "                 back; nothing is left behind\n"
         "  --json         print JSON instead of a table\n"
         "  --help         this text\n"
         "\n"
         "Nothing else should run meanwhile: of what others use, nothing is left to measure.\n"
         "\n"
         "Exit codes: 0 measured, 1 a loop computed a wrong result, 2 wrong options.\n";
}

}  // namespace nocturne::machine
