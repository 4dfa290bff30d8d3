#pragma once

/// `nocturne env [ACTION [NAME…]]`: the environments of frameworks.

#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct EnvOptions {
  std::string action = "list";  ///< list, install, check, remove, python, export, update
  std::vector<std::string> names;
  std::string lock;               ///< install: a file that export wrote
  std::string output;             ///< export: a file; empty: standard output
  std::string bundle;             ///< export: file or folder to write; install: the file
  std::string profile;            ///< export --bundle: a profile that goes with it
  bool thorough = false;          ///< check: an epoch beside the reference
  bool all = false;               ///< check: everything that is installed
  std::vector<std::string> vary;  ///< check --thorough: NAME=VALUE,…; a row for each value
};

void setup(CLI::App& subcommand, EnvOptions& options);
[[nodiscard]] ExitCode run(const EnvOptions& options, Context& context);

}  // namespace nocturne::cli
