#pragma once

/// The command line of nocturne-machine.

#include <string>
#include <variant>
#include <vector>

#include "kernels/machine/survey.hpp"

namespace nocturne::machine {

struct Options {
  SurveyPlan plan;
  bool json = false;
  bool help = false;
};

/// Either the options or a sentence that says what is wrong.
[[nodiscard]] std::variant<Options, std::string> parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] const char* help_text();

}  // namespace nocturne::machine
