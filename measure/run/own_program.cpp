#include "measure/run/own_program.hpp"

#include <unistd.h>

#include <cstdlib>

namespace nocturne::measure {

namespace fs = std::filesystem;

fs::path find_own_program(const char* name, const char* variable) {
  if (const char* wanted = std::getenv(variable); wanted != nullptr && *wanted != '\0') return wanted;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& candidate : {self.parent_path() / name, self.parent_path() / "../libexec/nocturne" / name})
    if (!error && ::access(candidate.c_str(), X_OK) == 0) return candidate.lexically_normal();
  return {};
}

}  // namespace nocturne::measure
