#include "kernels/machine/options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace nocturne::machine {

namespace {

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char letter : text)
    if (letter == ',')
      names.emplace_back();
    else
      names.back().push_back(letter);
  return names;
}

}  // namespace

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
      if (end == text.c_str() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0 || seconds > 3600)
        return "--seconds is '" + text + "'; it must be a number above 0 and at most 3600";
      options.plan.budget = std::chrono::duration<double>(seconds);
    } else if (argument == "--disk") {
      if (i + 1 == arguments.size() || arguments[i + 1].empty()) return "--disk needs a folder";
      options.plan.disk = arguments[++i];
    } else if (argument == "--only") {
      if (i + 1 == arguments.size()) return "--only needs names of figures";
      options.plan.only = names_in(arguments[++i]);
      if (std::ranges::find(options.plan.only, std::string()) != options.plan.only.end())
        return "--only is '" + arguments[i] + "'; it must be names of figures, joined by commas: fma_f32,triad";
    } else {
      return "unknown option '" + argument + "'; see --help";
    }
  }
  return options;
}

const char* help_text() {
  return "nocturne-machine [--seconds S] [--disk FOLDER] [--only NAMES] [--json]\n"
         "\n"
         "Measures what this machine can do at best: multiplications with additions a second in f32 and bf16,\n"
         "bandwidth (triad) and latency (a chain of loads) of each cache and of memory, each with one thread and with\n"
         "all CPUs this process may use; where there are several NUMA nodes, each one's bandwidth and the latencies\n"
         "between them. bf16 is measured in vectors (AVX512_BF16) and in tiles (AMX), where the processor has them.\n"
         "\n"
         "Figures that cannot be true together (two threads on two cores no faster than one) are measured again, up\n"
         "to four times; the best counts, and what is still doubtful says so.\n"
         "\n"
         "  --seconds S    time for all measurements together (default 20)\n"
         "  --disk FOLDER  the disk of this folder too: at most 256 MiB are written to a file without a name, and\n"
         "                 read back; nothing is left behind\n"
         "  --only NAMES   nothing but these figures, joined by commas: fma_f32,triad\n"
         "  --json         print JSON instead of a table\n"
         "  --help         this text\n"
         "\n"
         "Nothing else should run meanwhile: of what others use, nothing is left to measure.\n"
         "\n"
         "Exit codes: 0 measured, 1 a loop computed a wrong result, 2 wrong options.\n";
}

}  // namespace nocturne::machine
