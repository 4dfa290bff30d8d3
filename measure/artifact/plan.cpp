#include "measure/artifact/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// The folder of a prefix in which the libraries lie; a wheel says lib, Debian lib/x86_64-linux-gnu, Fedora lib64.
fs::path library_folder(const fs::path& prefix) {
  for (const char* name : {"lib", "lib64"}) {
    std::error_code error;
    if (fs::is_directory(prefix / name, error)) return prefix / name;
  }
  return prefix / "lib";
}

/// Where the linker would find -lNAME: the given folders first, else what the compiler says. Empty: it would not.
fs::path locate(const CompilerIdentity& compiler, const std::string& library, const std::vector<fs::path>& folders,
                Clock::time_point deadline, const std::stop_token& stop) {
  for (const char* suffix : {".so", ".a"}) {
    const std::string file = fmt::format("lib{}{}", library, suffix);
    std::error_code error;
    for (const fs::path& folder : folders) {
      if (fs::exists(folder / file, error)) return fs::canonical(folder / file, error);
    }
    const auto answer = command_output({.argv = {compiler.path.string(), "-print-file-name=" + file}}, deadline, stop);
    if (!answer) continue;
    const fs::path found = answer->substr(0, answer->find('\n'));
    if (found.is_absolute() && fs::exists(found, error)) return fs::canonical(found, error);
  }
  return {};
}

}  // namespace

std::vector<std::vector<fs::path>> units_of(const std::vector<fs::path>& sources, std::size_t together) {
  std::vector<std::vector<fs::path>> units;
  for (const fs::path& source : sources) {
    if (units.empty() || units.back().size() >= together || units.back().back().parent_path() != source.parent_path()) {
      units.emplace_back();
    }
    units.back().push_back(source);
  }
  return units;
}

std::vector<std::string> unit_arguments(const std::vector<fs::path>& unit) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i + 1 < unit.size(); ++i) append(arguments, {"-include", unit[i].string()});
  arguments.push_back(unit.back().string());
  return arguments;
}

std::expected<BuildPlan, BuildFailure> plan_build(const BuildRecipe& recipe, const BuildFlags& flags,
                                                  const BuildOptions& options, Clock::time_point deadline,
                                                  const std::stop_token& stop) {
  const auto fail = [&stop](std::string reason) {
    return std::unexpected(
        BuildFailure{.reason = std::move(reason), .log_tail = {}, .interrupted = stop.stop_requested()});
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
    if (const auto prefix = options.prefixes.find("nlohmann-json"); prefix != options.prefixes.end()) {
      append(plan.compile, {"-isystem", (prefix->second / "include").string()});
    }
  }
  std::vector<std::string> libraries = recipe.libraries;
  std::vector<fs::path> folders;
  if (std::ranges::find(recipe.uses, "onednn") != recipe.uses.end()) {
    libraries.insert(libraries.begin(), "dnnl");
    if (const auto prefix = options.prefixes.find("onednn"); prefix != options.prefixes.end()) {
      const fs::path folder = library_folder(prefix->second);
      folders.push_back(folder);
      append(plan.compile, {"-isystem", (prefix->second / "include").string()});
      append(plan.link_after, {"-L" + folder.string(), "-Wl,-rpath," + folder.string()});
    }
  }
  for (const std::string& library : libraries) {
    plan.link_after.push_back("-l" + library);
    if (fs::path file = locate(plan.compiler, library, folders, deadline, stop); !file.empty()) {
      plan.libraries.push_back(std::move(file));
    }
  }
  return plan;
}

}  // namespace nocturne::measure
