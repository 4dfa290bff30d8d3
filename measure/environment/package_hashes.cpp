#include "measure/environment/package_hashes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include "measure/environment/pip_trouble.hpp"
#include "measure/environment/requirement.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr PythonVersion kFirstWithGoodPip{.major = 3, .minor = 8};

bool is_pip(std::string_view line) {
  return package_of(line) == "pip";
}

/// Whose file that is: "numpy" of numpy-1.19.5-cp37-….whl, "h5py" of h5py-2.10.0.tar.gz.
std::string package_of_file(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t end = name.ends_with(".whl") ? name.find('-') : name.rfind('-');
  return package_of(name.substr(0, end));
}

/// "setuptools==66.1.1" where the Python has that wheel of its own.
bool is_bundled(std::string_view line, const PythonInterpreter& python) {
  const std::string_view version = line.substr(line.find("==") + 2);
  const std::string begin = fmt::format("{}-{}-", package_of(line), version);
  for (const fs::path& folder : bundled_with(python)) {
    for (const fs::directory_entry& entry : space::entries_of(folder)) {
      if (entry.path().filename().string().starts_with(begin)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<fs::path> bundled_with(const PythonInterpreter& python) {
  const fs::path prefix = python.program.parent_path().parent_path();
  std::vector<fs::path> folders = {
      prefix / fmt::format("lib/python{}.{}/ensurepip/_bundled", python.version.major, python.version.minor),
      "/usr/share/python-wheels"};
  std::erase_if(folders, [](const fs::path& folder) {
    std::error_code error;
    return !fs::is_directory(folder, error);
  });
  return folders;
}

bool brings_good_pip(const PythonInterpreter& python) {
  return python.version >= kFirstWithGoodPip;
}

std::expected<std::vector<std::string>, EnvironmentFailure> locked_arguments(const InstallSession& session,
                                                                             const PythonInterpreter& interpreter,
                                                                             std::vector<std::string> lock) {
  if (brings_good_pip(interpreter)) std::erase_if(lock, is_pip);
  if (std::ranges::none_of(lock, has_hash)) return lock;  // made before there were any
  std::erase_if(lock, is_own_tool);
  const fs::path file = session.places().temporary / "lock.txt";
  std::ofstream out(file);
  for (const std::string& line : lock) out << line << '\n';
  if (!out.flush()) return std::unexpected(session.full_disk());
  return std::vector<std::string>{"--require-hashes", "--requirement", file.string()};
}

bool add_hashes_of(const fs::path& folder, std::vector<std::string>& lock) {
  for (const fs::directory_entry& entry : space::entries_of(folder)) {
    const std::string package = package_of_file(entry.path());
    const auto line = std::ranges::find_if(lock, [&](const std::string& each) { return package_of(each) == package; });
    if (line == lock.end()) continue;
    const auto sha256 = space::sha256_of_file(entry.path());
    if (!sha256) return false;
    if (!line->contains(*sha256)) *line = with_hash(*line, *sha256);
  }
  return true;
}

std::expected<std::vector<std::string>, EnvironmentFailure> with_hashes(const InstallSession& session,
                                                                        const PythonInterpreter& interpreter,
                                                                        std::vector<std::string> lock,
                                                                        const std::vector<std::string>& known) {
  std::vector<std::string> unknown;
  for (std::string& line : lock) {
    const auto same = [&line](const std::string& each) { return has_hash(each) && version_in_lock(each) == line; };
    if (const auto found = std::ranges::find_if(known, same); found != known.end()) {
      line = *found;
    } else if (!is_own_tool(line) ||
               !((is_pip(line) && brings_good_pip(interpreter)) || is_bundled(line, interpreter))) {
      unknown.push_back(line);
    }
  }
  if (unknown.empty()) return lock;
  const fs::path folder = session.places().temporary / "files";
  std::vector<std::string> arguments = {session.python().string(), "-m", "pip", "download", "--no-deps"};
  for (std::string& option : session.pip_options()) arguments.push_back(std::move(option));
  arguments.push_back("--dest=" + folder.string());
  arguments.insert(arguments.end(), unknown.begin(), unknown.end());
  const auto ended = session.start(std::move(arguments));
  if (!ended.result.ok())
    return std::unexpected(session.failure(ended, "pip download", explain_pip(ended.output, session.store())));
  if (!add_hashes_of(folder, lock)) return std::unexpected(session.trouble("its packages cannot be read again"));
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  for (const std::string& line : unknown) {
    if (std::ranges::find(lock, line) != lock.end())
      return std::unexpected(session.trouble(fmt::format("the file of {} was not found again", line)));
  }
  return lock;
}

}  // namespace nocturne::measure
