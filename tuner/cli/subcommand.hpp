#pragma once

/// One subcommand of the command line: a pair of files in tuner/cli/subcommands, an entry in the list in cli.cpp.
///
/// The pair declares an options struct and two functions, found by overload:
///
///   struct BestOptions { std::string campaign; };
///   void setup(CLI::App& subcommand, BestOptions& options);                  // options, positionals, help, examples
///   [[nodiscard]] ExitCode run(const BestOptions& options, Context& context);
///
/// `--db FILE`, `--data DIR` and `--json` are added to every subcommand by cli.cpp and arrive in the context.

#include <functional>
#include <memory>
#include <string_view>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct Subcommand {
  std::string_view group;  ///< heading in `nocturne --help`, README and docs/reference.md; empty: not shown there
  std::string_view name;
  std::string_view summary;  ///< one line of at most 61 characters, so that `nocturne --help` fits 80 columns
  /// Adds the subcommand's options to its App and returns what runs it after parsing.
  std::function<std::function<ExitCode(Context&)>(CLI::App&)> add;
};

/// An entry of the list of subcommands.
template <typename Options>
[[nodiscard]] Subcommand make_subcommand(std::string_view group, std::string_view name, std::string_view summary) {
  return {group, name, summary, [](CLI::App& app) -> std::function<ExitCode(Context&)> {
            auto options = std::make_shared<Options>();  // lives as long as the parser that writes into it
            setup(app, *options);
            return [options](Context& context) { return run(*options, context); };
          }};
}

}  // namespace nocturne::cli
