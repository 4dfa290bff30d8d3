#include "space/folder_entries.hpp"

namespace nocturne::space {

std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  return entries_of(folder, ignored);
}

std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::filesystem::directory_entry> entries;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(*entry);
  return entries;
}

}  // namespace nocturne::space
