#include "measure/artifact/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "measure/artifact/parallel.hpp"
#include "measure/artifact/process.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Where the linker would find -lNAME: the given folders first, else what the compiler says. Empty: it would not.
fs::path locate(const CompilerIdentity& compiler, const std::string& library, const std::vector<fs::path>& folders,
                Clock::time_point deadline, const std::stop_token& stop) {
  // The order in which the linker itself prefers them.
  for (const char* suffix : {".so", ".a"}) {
    const std::string file = fmt::format("lib{}{}", library, suffix);
    std::error_code error;
    for (const fs::path& folder : folders)
      if (fs::exists(folder / file, error)) return fs::canonical(folder / file, error);
    const auto answer = command_output({.argv = {compiler.path.string(), "-print-file-name=" + file}}, deadline, stop);
    if (!answer) continue;
    const fs::path found = answer->substr(0, answer->find('\n'));
    if (found.is_absolute() && fs::exists(found, error)) return fs::canonical(found, error);
  }
  return {};
}

/// Changes whenever keys of earlier versions of this program must not be reused.
constexpr int kKeyVersion = 2;

/// From the folder of the JSON library on: "nlohmann/json.hpp". Empty for any other file.
fs::path json_header(const fs::path& file) {
  const auto folder = std::ranges::find(file, fs::path("nlohmann"));
  return std::accumulate(folder, file.end(), fs::path(), std::divides<fs::path>());
}

/// Headers of the system belong to the compiler and its packages; its version text stands for them. The JSON library
/// has a version of its own, and is compiled into the program.
bool is_system_header(const fs::path& file, const fs::path& source_root) {
  if (!json_header(file).empty()) return false;
  const auto below = [&file](const fs::path& folder) {
    const fs::path relative = file.lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
  };
  return !below(source_root) && (below("/usr/include") || below("/usr/lib") || below("/usr/lib64"));
}

BuildFailure failure(std::string_view log, const std::stop_token& stop) {
  return {.reason = first_error(log), .log_tail = std::string(log), .interrupted = stop.stop_requested()};
}

/// The files that one unit reads, absolute, without the system's.
std::expected<std::vector<fs::path>, BuildFailure> files_read_by(const BuildPlan& plan,
                                                                 const std::vector<fs::path>& unit,
                                                                 Clock::time_point deadline,
                                                                 const std::stop_token& stop) {
  Command command{.argv = {plan.compiler.path.string()}, .folder = plan.source_root};
  command.argv.insert(command.argv.end(), plan.compile.begin(), plan.compile.end());
  // -M alone names the target after the source, in a spelling that differs between compilers.
  command.argv.insert(command.argv.end(), {"-M", "-MT", "x"});
  const std::vector<std::string> sources = unit_arguments(unit);
  command.argv.insert(command.argv.end(), sources.begin(), sources.end());
  const auto rule = command_output(command, deadline, stop);
  if (!rule) return std::unexpected(failure(rule.error(), stop));
  std::vector<fs::path> files;
  for (const std::string& name : parse_dependencies(*rule)) {
    fs::path file = (plan.source_root / name).lexically_normal();
    if (!is_system_header(file, plan.source_root)) files.push_back(std::move(file));
  }
  return files;
}

/// The name under which a file enters the key: moving a checkout alone changes nothing.
std::string name_of(const fs::path& file, const fs::path& source_root) {
  if (const fs::path header = json_header(file); !header.empty()) return header.string();
  const fs::path relative = file.lexically_relative(source_root);
  return relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();
}

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
  BuildFailure failure{.log_tail = tail_of(log), .interrupted = result.end == CommandEnd::Stopped};
  if (result.end == CommandEnd::Exited)
    failure.reason = first_error(log);
  else
    failure.reason = fmt::format("{}: {}", what, to_text(result));
  return failure;
}

}  // namespace

std::vector<std::vector<fs::path>> units_of(const std::vector<fs::path>& sources, std::size_t together) {
  std::vector<std::vector<fs::path>> units;
  for (const fs::path& source : sources) {
    // Units end where a folder ends: a new file changes the units of its own folder alone.
    if (units.empty() || units.back().size() >= together || units.back().back().parent_path() != source.parent_path())
      units.emplace_back();
    units.back().push_back(source);
  }
  return units;
}

std::vector<std::string> unit_arguments(const std::vector<fs::path>& unit) {
  std::vector<std::string> arguments;
  // No file that includes the others is written: the command line alone says what is compiled together, and so does the
  // key.
  for (std::size_t i = 0; i + 1 < unit.size(); ++i) append(arguments, {"-include", unit[i].string()});
  arguments.push_back(unit.back().string());
  return arguments;
}

fs::path library_folder(const fs::path& prefix) {
  for (const char* name : {"lib", "lib64"}) {
    std::error_code error;
    if (fs::is_directory(prefix / name, error)) return prefix / name;
  }
  return prefix / "lib";
}

std::expected<BuildPlan, BuildFailure> plan_build(const BuildRecipe& recipe, const BuildFlags& flags,
                                                  const BuildOptions& options, Clock::time_point deadline,
                                                  const std::stop_token& stop) {
  const auto fail = [&stop](std::string reason) {
    return std::unexpected(BuildFailure{.reason = std::move(reason), .interrupted = stop.stop_requested()});
  };
  auto compiler = identify_compiler(flags.compiler, deadline, stop);
  if (!compiler) return fail(compiler.error());

  BuildPlan plan{.compiler = std::move(*compiler),
                 .name = recipe.name,
                 .source_root = recipe.source_root,
                 .units = units_of(recipe.sources, static_cast<std::size_t>(recipe.together))};
  std::vector<std::string> common = recipe.flags;
  if (std::ranges::find(recipe.uses, "threads") != recipe.uses.end()) common.emplace_back("-pthread");
  append(common, compile_arguments(flags));

  plan.compile = {"-std=" + recipe.standard};
  append(plan.compile, common);
  // Programs that differ only in where their sources lay are equal.
  plan.compile.push_back(fmt::format("-ffile-prefix-map={}=.", recipe.source_root.string()));
  for (const std::string& define : recipe.defines) plan.compile.push_back("-D" + define);
  for (const fs::path& include : recipe.include) plan.compile.push_back("-I" + include.string());

  plan.link_before = common;
  if (flags.lto && !plan.compiler.clang) {
    // One partition a core of the slot; plain -flto would take one core.
    plan.link_before.push_back(fmt::format("-flto={}", std::max(1, options.jobs)));
  }
  if (std::ranges::find(recipe.uses, "nlohmann-json") != recipe.uses.end()) {
    if (const auto prefix = options.prefixes.find("nlohmann-json"); prefix != options.prefixes.end())
      append(plan.compile, {"-isystem", (prefix->second / "include").string()});
  }
  std::vector<std::string> libraries = recipe.libraries;
  std::vector<fs::path> folders;
  if (std::ranges::find(recipe.uses, "onednn") != recipe.uses.end()) {
    libraries.insert(libraries.begin(), "dnnl");
    if (const auto prefix = options.prefixes.find("onednn"); prefix != options.prefixes.end()) {
      const fs::path folder = library_folder(prefix->second);
      folders.push_back(folder);
      append(plan.compile, {"-isystem", (prefix->second / "include").string()});
      // The program finds the library it was linked with, whatever LD_LIBRARY_PATH of a later run says.
      append(plan.link_after, {"-L" + folder.string(), "-Wl,-rpath," + folder.string()});
    }
  }
  for (const std::string& library : libraries) {
    plan.link_after.push_back("-l" + library);
    if (fs::path file = locate(plan.compiler, library, folders, deadline, stop); !file.empty())
      plan.libraries.push_back(std::move(file));
  }
  return plan;
}

// The key of a build: a digest of everything that decides what comes out of it.

std::vector<std::string> parse_dependencies(std::string_view rule) {
  std::vector<std::string> files;
  std::size_t at = rule.find(": ");
  if (at == std::string_view::npos) return files;
  std::string name;
  const auto finish = [&files, &name] {
    if (!name.empty()) files.push_back(std::move(name));
    name.clear();
  };
  for (at += 2; at < rule.size(); ++at) {
    const char c = rule[at];
    const char next = at + 1 < rule.size() ? rule[at + 1] : '\0';
    if (c == '\\' && next == '\n') {
      finish();
      ++at;
    } else if ((c == '\\' && (next == ' ' || next == '#' || next == '\\')) || (c == '$' && next == '$')) {
      name += next;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      finish();
    } else {
      name += c;
    }
  }
  finish();
  return files;
}

std::expected<BuildKey, BuildFailure> compute_key(const BuildPlan& plan, const BuildOptions& options,
                                                  Clock::time_point deadline, const std::stop_token& stop) {
  // -march=native is another program on another machine: the key has what it stands for here.
  const auto target = spelled_out_target(plan.compiler, plan.compile, deadline, stop);
  if (!target) return std::unexpected(failure(target.error(), stop));

  std::vector<std::expected<std::vector<fs::path>, BuildFailure>> read(plan.units.size());
  for_each_in_parallel(plan.units.size(), options.jobs, [&](std::size_t i) {
    read[i] = files_read_by(plan, plan.units[i], deadline, stop);
    return read[i].has_value();
  });
  std::set<fs::path> files;
  for (auto& one : read) {
    if (!one) return std::unexpected(std::move(one.error()));
    files.insert(one->begin(), one->end());
  }

  BuildKey result;
  nlohmann::json contents = nlohmann::json::object();
  for (const fs::path& file : files) {
    const std::string digest = file_digest(file);
    if (digest.empty()) return std::unexpected(failure(file.string() + " cannot be read", stop));
    contents[name_of(file, plan.source_root)] = digest;
    result.files.push_back(file);
  }
  nlohmann::json libraries = nlohmann::json::object();
  for (const fs::path& library : plan.libraries) {
    // By content, for a package can be upgraded without a new name.
    libraries[library.string()] = file_digest(library);
    result.files.push_back(library);
  }
  // The prefix map names this checkout, for the sole purpose of keeping it out of the program.
  std::vector<std::string> compile = plan.compile;
  std::erase_if(compile, [](const std::string& argument) { return argument.starts_with("-ffile-prefix-map="); });
  std::vector<std::vector<std::string>> units;
  for (const auto& unit : plan.units) units.push_back(unit_arguments(unit));
  result.inputs = {{"version", kKeyVersion},
                   {"name", plan.name},
                   {"units", units},
                   {"files", contents},
                   {"compile", compile},
                   {"link", {plan.link_before, plan.link_after}},
                   {"target", space::sha256(*target)},
                   {"compiler", {{"digest", plan.compiler.digest}, {"version", plan.compiler.version}}},
                   {"libraries", libraries}};
  result.key = space::sha256(result.inputs.dump());
  return result;
}

// Carries a build out: compiles each unit by itself, links, keeps the log.

std::string first_error(std::string_view log) {
  constexpr std::array<std::string_view, 4> kSigns = {"error:", "undefined reference", "cannot find -l", "error "};
  std::string_view last;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with("+ ")) continue;  // a command of ours
    for (const std::string_view sign : kSigns)
      if (line.contains(sign)) return std::string(line);
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
  for (std::size_t i = 0; i < count; ++i)
    if (!results[i].ok()) return std::unexpected(failure(results[i], plan.units[i].back().string(), said()));

  Command link{.argv = {plan.compiler.path.string()}, .folder = plan.source_root, .cpus = options.cpus};
  link.argv.insert(link.argv.end(), plan.link_before.begin(), plan.link_before.end());
  for (std::size_t i = 0; i < count; ++i) link.argv.push_back(object(i).string());
  link.argv.insert(link.argv.end(), plan.link_after.begin(), plan.link_after.end());
  link.argv.insert(link.argv.end(), {"-o", (folder / plan.name).string()});
  // Linked on the same CPUs as compiled: with LTO this is where the work is.
  const CommandResult linked = logged(link, log, deadline, stop);
  if (!linked.ok()) return std::unexpected(failure(linked, "linking " + plan.name, said()));
  for (std::size_t i = 0; i < count; ++i) {
    std::error_code ignored;
    fs::remove(object(i), ignored);
  }
  return {};
}

}  // namespace nocturne::measure
