#pragma once

/// The command line of nocturne-machine.

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace nocturne::machine {

struct Options {
  std::chrono::duration<double> budget{6};  ///< of all measurements together
  bool json = false;
  bool help = false;
};

/// Either the options or a sentence that says what is wrong.
[[nodiscard]] std::variant<Options, std::string> parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] const char* help_text();

}  // namespace nocturne::machine
