#include "measure/supervisor/log_tail.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace nocturne::measure {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string valid_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string tail_of(const RunFolder& folder, const std::string& name, std::size_t bytes) {
  const auto file = folder.read(name);
  if (!file) return {};
  const std::int64_t skipped = std::max<std::int64_t>(0, file->size() - static_cast<std::int64_t>(bytes));
  std::string text = file->read_at(skipped, bytes);
  if (skipped > 0) {
    const std::size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
  }
  return valid_utf8(text);
}

std::string tail_of(const fs::path& path, std::size_t bytes) {
  const auto folder = RunFolder::open(path.parent_path());
  return folder ? tail_of(*folder, path.filename().string(), bytes) : std::string();
}

std::string last_line_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kSpace);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string_view::npos) text = text.substr(begin + 1);
  return valid_utf8(std::string(text.substr(0, 300)));
}

}  // namespace nocturne::measure
