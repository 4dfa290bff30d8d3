#include "measure/artifact/incomplete.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <system_error>

#include <fmt/format.h>

#include "measure/artifact/lock.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMaking = ".making";
constexpr const char* kLocks = ".lock";

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

fs::path lock_of_name(const fs::path& root, const std::string& name) {
  return root / kLocks / name;
}

fs::path incomplete_folder(const fs::path& root, const std::string& name) {
  return root / kMaking / fmt::format("{}.{}", name, ::getpid());
}

void sweep_incomplete(const fs::path& root) {
  for (const char* folder : {kMaking, kLocks}) fs::create_directories(root / folder);
  for (const fs::directory_entry& entry : space::entries_of(root / kMaking)) {
    const std::string process = entry.path().extension();
    if (process.empty() || !is_number(process.substr(1))) continue;
    std::error_code ignored;
    if (const auto lock = FileLock::try_take(lock_of_name(root, entry.path().stem()))) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

Incomplete::Incomplete(const fs::path& root, const std::string& name) : path_(incomplete_folder(root, name)) {
  fs::remove_all(path_);  // of an earlier process with this number
  fs::create_directories(path_);
}

Incomplete::~Incomplete() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void Incomplete::take_place_of(const fs::path& folder) {
  fs::remove_all(folder);
  fs::rename(path_, folder);
  path_.clear();
}

}  // namespace nocturne::measure
