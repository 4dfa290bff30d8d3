#pragma once

/// One subcommand of the command line: a source in tuner/cli/subcommands, its line here and one in the list in cli.cpp.
///
/// The source has an options struct and two functions of its own, found by overload, and hands them over:
///
///   struct BestOptions { std::string campaign; };
///   void setup(CLI::App& subcommand, BestOptions& options);    // options, positionals, help, examples
///   ExitCode run(const BestOptions& options, Context& context);
///   SubcommandAction add_best(CLI::App& subcommand) { return add_options<BestOptions>(subcommand); }
///
/// `--db FILE`, `--data DIR` and `--json` are added to every subcommand by cli.cpp and arrive in the context.

#include <functional>
#include <memory>
#include <string_view>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

/// Runs a subcommand, once its options are parsed.
using SubcommandAction = std::function<ExitCode(Context&)>;

struct Subcommand {
  std::string_view group;  ///< heading in `nocturne --help`, README and docs/reference.md; empty: not shown there
  std::string_view name;
  std::string_view summary;  ///< one line of at most 61 characters, so that `nocturne --help` fits 80 columns
  /// Adds the subcommand's options to its App.
  SubcommandAction (*add)(CLI::App&);
};

template <typename Options>
[[nodiscard]] SubcommandAction add_options(CLI::App& subcommand) {
  auto options = std::make_shared<Options>();  // lives as long as the parser that writes into it
  setup(subcommand, *options);
  return [options](Context& context) { return run(*options, context); };
}

[[nodiscard]] SubcommandAction add_apply(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_ask(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_best(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_blame(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_clean(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_compare(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_completion(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_deploy(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_doctor(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_env(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_execute(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_explain(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_export(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_import(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_infrastructure(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_init(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_list(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_machine(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_manual(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_model(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_noise(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_pareto(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_predict(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_replay(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_report(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_request(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_roofline(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_schema(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_show(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_space(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_status(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_tell(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_tune(CLI::App& subcommand);
[[nodiscard]] SubcommandAction add_verify(CLI::App& subcommand);

}  // namespace nocturne::cli
