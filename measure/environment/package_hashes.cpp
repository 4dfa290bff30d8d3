#include "measure/environment/package_hashes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include "measure/environment/pip_error.hpp"
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

/// Whose file that is: "h5py==2.10.0" for h5py-2.10.0.tar.gz. The longest name, for "x-2" may be a package beside "x".
std::vector<std::string>::iterator line_of(const fs::path& file, std::vector<std::string>& lock) {
  const std::string name = package_of(file.filename().string());
  std::size_t longest = 0;
  auto found = lock.end();
  for (auto line = lock.begin(); line != lock.end(); ++line) {
    const std::string begin = package_of(*line) + '-';
    if (begin.size() <= longest || !name.starts_with(begin)) continue;
    longest = begin.size();
    found = line;
  }
  return found;
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
    const auto line = line_of(entry.path(), lock);
    if (line == lock.end()) continue;
    const auto sha256 = space::sha256_of_file(entry.path());
    if (!sha256) return false;
    if (!line->contains(*sha256)) *line = with_hash(*line, *sha256);
  }
  return true;
}

std::expected<std::vector<std::string>, EnvironmentFailure> with_hashes(const InstallSession& session,
                                                                        std::vector<std::string> lock,
                                                                        const std::vector<std::string>& known,
                                                                        const std::vector<std::string>& brought) {
  std::vector<std::string> unknown;
  for (std::string& line : lock) {
    const auto same = [&line](const std::string& each) { return has_hash(each) && version_in_lock(each) == line; };
    if (const auto found = std::ranges::find_if(known, same); found != known.end())
      line = *found;
    else if (!is_own_tool(line) || std::ranges::find(brought, line) == brought.end())
      unknown.push_back(line);
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
  if (!add_hashes_of(folder, lock)) return std::unexpected(session.error("its packages cannot be read again"));
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  for (const std::string& line : unknown)
    if (std::ranges::find(lock, line) != lock.end())
      return std::unexpected(session.error(fmt::format("the file of {} was not found again", line)));
  return lock;
}

}  // namespace nocturne::measure
