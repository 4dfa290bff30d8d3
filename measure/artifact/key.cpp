// The key of a build: a digest of everything that decides what comes out of it.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>
#include <set>

#include "measure/artifact/parallel.hpp"
#include "measure/artifact/plan.hpp"
#include "measure/artifact/process.hpp"
#include "space/digest.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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

}  // namespace

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

}  // namespace nocturne::measure
