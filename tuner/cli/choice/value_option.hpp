#pragma once

/// Options that take a value, declared in one line. For sources that add options: it includes all of CLI11.

#include <string>

#include <CLI/CLI.hpp>

#include "tuner/cli/choice/number_checks.hpp"

namespace nocturne::cli {

/// An option, or a positional where `name` has no dashes. `type` stands for its value in the help: "N", "FILE".
/// `check` says what is wrong with a text; without one, what CLI11 can convert is accepted. The value outlives `app`.
template <typename Value>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value, const std::string& type,
                       const std::string& description, const NumberCheck& check = {}) {
  CLI::Option* option = app.add_option(name, value, description)->type_name(type);
  return check ? option->check(check) : option;
}

}  // namespace nocturne::cli
