#include "measure/run/own_program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace nocturne::measure {

namespace fs = std::filesystem;

fs::path own_program_path() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self;
}

fs::path beside_own_program(std::string_view name) {
  const fs::path self = own_program_path();
  return self.empty() ? fs::path() : self.parent_path() / name;
}

fs::path find_own_program(const char* name, const char* variable) {
  if (const char* wanted = std::getenv(variable); wanted != nullptr && *wanted != '\0') return wanted;
  const fs::path folder = own_program_path().parent_path();
  for (const fs::path& candidate : {folder / name, folder / "../libexec/nocturne" / name})
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal();
  return {};
}

}  // namespace nocturne::measure
