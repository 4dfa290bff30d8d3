#include "tuner/campaign/search_options.hpp"

#include <string_view>

#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {

search::Roles roles_of(const space::Space& space) {
  const auto named = [&](std::string_view name) {
    return std::string(space.find(name) != nullptr ? name : std::string_view());
  };
  return {.batch = named("batch"), .threads = named("threads")};
}

std::int64_t usual_memory_limit(std::int64_t usable_bytes) {
  return usable_bytes / 4 * 3;
}

std::int64_t memory_limit_of(const nlohmann::json& document, const space::Facts& facts) {
  if (const std::int64_t written = sections_of(document).run.memory_bytes; written > 0) return written;
  const auto* fact = facts.find("machine.memory_bytes");
  const auto* bytes = fact == nullptr ? nullptr : std::get_if<std::int64_t>(fact);
  return bytes == nullptr ? 0 : usual_memory_limit(*bytes);
}

}  // namespace nocturne::tuner
