// nocturne-machine: what this machine can do at best. See --help.

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>

#include "kernels/machine/options.hpp"
#include "kernels/machine/report.hpp"
#include "kernels/machine/survey.hpp"

namespace {

int run(const std::vector<std::string>& arguments) {
  using namespace nocturne::machine;
  const auto parsed = parse_options(arguments);
  if (const auto* problem = std::get_if<std::string>(&parsed)) {
    std::cerr << "nocturne-machine: " << *problem << '\n';
    return 2;
  }
  const Options& options = std::get<Options>(parsed);
  if (options.help) {
    std::cout << help_text();
    return 0;
  }
  const bool talk = isatty(STDERR_FILENO) != 0;
  const auto measurements = survey(options.plan, [talk](const std::string& what) {
    if (talk) std::cerr << "measuring " << what << '\n';
  });
  if (measurements.empty()) {
    std::cerr << "nocturne-machine: no figure here has a name in --only; without it all are shown\n";
    return 2;
  }
  if (options.json)
    std::cout << to_json(measurements, this_machine()).dump(2) << '\n';
  else
    print_table(std::cout, measurements);
  return std::ranges::all_of(measurements, &Measurement::right) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::cerr << "nocturne-machine: " << error.what() << '\n';
    return 1;
  }
}
