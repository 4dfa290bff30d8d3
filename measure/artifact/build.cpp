// Carries a build out: compiles each unit by itself, links, keeps the log.

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>

#include "measure/artifact/parallel.hpp"
#include "measure/artifact/plan.hpp"
#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kTailBytes = 8000;  // some fifty lines: the first error and what follows from it

std::string tail_of(const std::string& log) {
  if (log.size() <= kTailBytes) return log;
  // The first error explains most, so it is kept where the tail would cut it off.
  return first_error(log) + "\n[…]\n" + log.substr(log.size() - kTailBytes);
}

/// Runs one command, its words and its output in `log`.
CommandResult logged(const Command& command, const fs::path& log, Clock::time_point deadline,
                     const std::stop_token& stop) {
  {
    std::ofstream out(log, std::ios::app);
    out << '+';
    for (const std::string& word : command.argv) out << ' ' << word;
    out << '\n';
  }
  return run_command(command, log, deadline, stop);
}

BuildFailure failure(const CommandResult& result, std::string_view what, const std::string& log) {
  BuildFailure failure{.reason = {}, .log_tail = tail_of(log), .interrupted = result.end == CommandEnd::Stopped};
  if (result.end == CommandEnd::Exited) {
    failure.reason = first_error(log);
  } else {
    failure.reason = fmt::format("{}: {}", what, to_text(result));
  }
  return failure;
}

}  // namespace

std::string first_error(std::string_view log) {
  constexpr std::array<std::string_view, 4> kSigns = {"error:", "undefined reference", "cannot find -l", "error "};
  std::string_view last;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("+ ")) continue;  // a command of ours
    for (const std::string_view sign : kSigns) {
      if (line.contains(sign)) return std::string(line);
    }
    if (line.find_first_not_of(" \t") != std::string_view::npos) last = line;
  }
  return last.empty() ? "the compiler failed without a word" : std::string(last);
}

std::expected<void, BuildFailure> carry_out(const BuildPlan& plan, const BuildOptions& options, const fs::path& folder,
                                            Clock::time_point deadline, const std::stop_token& stop) {
  const std::size_t count = plan.units.size();
  const auto object = [&folder](std::size_t i) { return folder / fmt::format("{}.o", i); };
  const auto piece_log = [&folder](std::size_t i) { return folder / fmt::format("{}.log", i); };

  std::vector<CommandResult> results(count, CommandResult{.end = CommandEnd::Exited, .status = 0});
  for_each_in_parallel(count, options.jobs, [&](std::size_t i) {
    Command command{.argv = {plan.compiler.path.string()}, .folder = plan.source_root, .cpus = options.cpus};
    command.argv.insert(command.argv.end(), plan.compile.begin(), plan.compile.end());
    command.argv.insert(command.argv.end(), {"-c", "-o", object(i).string()});
    const std::vector<std::string> sources = unit_arguments(plan.units[i]);
    command.argv.insert(command.argv.end(), sources.begin(), sources.end());
    results[i] = logged(command, piece_log(i), deadline, stop);
    return results[i].ok();
  });
  // One log, in the order of the units whatever the order of their ends.
  const fs::path log = folder / "build.log";
  const auto said = [&log] { return space::read_file(log).value_or(""); };
  for (std::size_t i = 0; i < count; ++i) {
    std::ofstream(log, std::ios::app) << space::read_file(piece_log(i)).value_or("");
    std::error_code ignored;
    fs::remove(piece_log(i), ignored);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!results[i].ok()) return std::unexpected(failure(results[i], plan.units[i].back().string(), said()));
  }

  Command link{.argv = {plan.compiler.path.string()}, .folder = plan.source_root, .cpus = options.cpus};
  link.argv.insert(link.argv.end(), plan.link_before.begin(), plan.link_before.end());
  for (std::size_t i = 0; i < count; ++i) link.argv.push_back(object(i).string());
  link.argv.insert(link.argv.end(), plan.link_after.begin(), plan.link_after.end());
  link.argv.insert(link.argv.end(), {"-o", (folder / plan.name).string()});
  const CommandResult linked = logged(link, log, deadline, stop);
  if (!linked.ok()) return std::unexpected(failure(linked, "linking " + plan.name, said()));
  for (std::size_t i = 0; i < count; ++i) {
    std::error_code ignored;
    fs::remove(object(i), ignored);
  }
  return {};
}

}  // namespace nocturne::measure
