#include "tuner/executor/python_worker.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// What Python reads from its surroundings, and what frameworks do: a trial says what it runs with.
constexpr std::array<std::string_view, 31> kForeignVariables = {"PYTHONPATH",
                                                                "NVIDIA_TF32_OVERRIDE",
                                                                "PYTHONHOME",
                                                                "PYTHONSTARTUP",
                                                                "PYTHONUSERBASE",
                                                                "PYTHONOPTIMIZE",
                                                                "PYTHONINSPECT",
                                                                "PYTHONMALLOC",
                                                                "PYTHONDEVMODE",
                                                                "PYTHONWARNINGS",
                                                                "PYTHONPROFILEIMPORTTIME",
                                                                "PYTHONTRACEMALLOC",
                                                                "VIRTUAL_ENV",
                                                                "TF_XLA_FLAGS",
                                                                "XLA_FLAGS",
                                                                "TF_ENABLE_ONEDNN_OPTS",
                                                                "TF_DISABLE_MKL",
                                                                "TF_NUM_INTEROP_THREADS",
                                                                "TF_NUM_INTRAOP_THREADS",
                                                                "KERAS_BACKEND",
                                                                "KERAS_HOME",
                                                                "JAX_PLATFORMS",
                                                                "JAX_COMPILATION_CACHE_DIR",
                                                                "PJRT_DEVICE",
                                                                "PYTORCH_JIT",
                                                                "TORCH_COMPILE_DISABLE",
                                                                "TORCHDYNAMO_DISABLE",
                                                                "TORCHINDUCTOR_CACHE_DIR",
                                                                "MXNET_SUBGRAPH_BACKEND",
                                                                "MXNET_MKLDNN_ENABLED",
                                                                "FLAGS_use_mkldnn"};

/// First components of what a source imports: `import a.b, c` and `from d.e import f`. Reading too much only makes the
/// digest change more often.
std::set<std::string> imported_names(const std::string& source) {
  std::set<std::string> names;
  std::size_t begin = 0;
  while (begin < source.size()) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    std::string_view line = std::string_view(source).substr(begin, end - begin);
    begin = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool from = line.starts_with("from ");
    if (!from && !line.starts_with("import ")) continue;
    line.remove_prefix(from ? 5 : 7);
    if (from) line = line.substr(0, line.find(' '));
    std::string word;
    bool first_component = true;
    for (const char c : line) {
      const bool in_name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (in_name && first_component) word += c;
      if (in_name) continue;
      if (!word.empty()) names.insert(word);
      word.clear();
      first_component = c != '.';
    }
    if (!word.empty()) names.insert(word);
  }
  return names;
}

void add_package(const fs::path& folder, std::set<fs::path>& files) {
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".py" && entry->is_regular_file(ignored)) files.insert(entry->path());
  }
}

}  // namespace

std::expected<std::vector<fs::path>, std::string> python_worker_files(const fs::path& folder,
                                                                      const std::string& worker) {
  std::error_code ignored;
  if (worker.empty() || worker.find('/') != std::string::npos || !fs::is_regular_file(folder / worker, ignored))
    return std::unexpected(fmt::format("there is no worker '{}' in {}", worker, folder.string()));
  std::set<fs::path> files, read;
  files.insert(folder / worker);
  while (read.size() < files.size()) {
    const fs::path next = *std::ranges::find_if(files, [&](const fs::path& file) { return !read.contains(file); });
    read.insert(next);
    for (const std::string& name : imported_names(space::read_file(next).value_or(""))) {
      if (fs::is_regular_file(folder / (name + ".py"), ignored)) files.insert(folder / (name + ".py"));
      if (fs::is_directory(folder / name, ignored)) add_package(folder / name, files);
    }
  }
  return std::vector<fs::path>(files.begin(), files.end());
}

std::expected<std::string, std::string> python_worker_digest(const measure::Environment& environment,
                                                             const fs::path& folder, const std::string& worker) {
  const auto files = python_worker_files(folder, worker);
  if (!files) return std::unexpected(files.error());
  std::string parts = environment.key + '\n' + worker + '\n';
  for (const fs::path& file : *files)
    parts += file.lexically_relative(folder).string() + ' ' + space::sha256_of_file(file).value_or("") + '\n';
  return space::sha256(parts);
}

measure::LaunchSettings python_launch(const measure::EnvironmentRecipe& recipe, measure::LaunchSettings settings,
                                      const fs::path& environment) {
  for (const auto& [name, value] : measure::variables_of(recipe, environment)) settings.set.emplace(name, value);
  settings.set.emplace("PYTHONDONTWRITEBYTECODE", "1");  // an environment stays as it was installed
  settings.set.emplace("PYTHONHASHSEED", "0");           // the order of sets is no between-process spread
  settings.set.emplace("PYTHONNOUSERSITE", "1");
  settings.set.emplace("PYTHONUNBUFFERED", "1");  // what was said before a crash is in the log
  for (const std::string_view name : kForeignVariables)
    if (std::ranges::find(settings.unset, name) == settings.unset.end()) settings.unset.emplace_back(name);
  std::erase_if(settings.unset, [&](const std::string& name) { return settings.set.contains(name); });
  return settings;
}

std::vector<std::string> python_arguments(const measure::Environment& environment, const fs::path& folder,
                                          const std::string& worker) {
  return {environment.python.string(), (folder / worker).string()};
}

}  // namespace nocturne::tuner
