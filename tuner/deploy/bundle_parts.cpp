#include "tuner/deploy/bundle_parts.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "space/file_contents.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kLargestPart = 4 << 20;

bool ends_name(std::string_view text, std::size_t at) {
  if (at >= text.size()) return true;
  const auto next = static_cast<unsigned char>(text[at]);
  return std::isalnum(next) == 0 && next != '_' && next != '-' && next != '.';
}

std::string moved_text(std::string text, const Moves& moves) {
  for (const auto& [from, to] : moves) {
    if (from.empty()) continue;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      if (!ends_name(text, at + from.size())) {
        at += from.size();
        continue;
      }
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return text;
}

}  // namespace

json moved(const json& document, const Moves& moves) {
  if (document.is_string()) return moved_text(document.get<std::string>(), moves);
  json result = document;
  if (document.is_structured())
    for (json& each : result) each = moved(each, moves);
  return result;
}

BundleFolder::BundleFolder(const fs::path& in) : path_(in / fmt::format("bundle-{}", ::getpid())) {
  fs::remove_all(path_);  // of an earlier process with this number
  fs::create_directories(content());
  fs::create_directories(work());
  fs::permissions(path_, fs::perms::owner_all);
}

BundleFolder::~BundleFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<fs::path> linked_libraries(std::string_view ldd) {
  std::vector<fs::path> libraries;
  while (!ldd.empty()) {
    std::string_view line = ldd.substr(0, ldd.find('\n'));
    ldd.remove_prefix(std::min(line.size() + 1, ldd.size()));
    const std::size_t arrow = line.find("=> /");
    if (arrow == std::string_view::npos) continue;
    line.remove_prefix(arrow + 3);
    libraries.emplace_back(line.substr(0, line.rfind(" (")));
  }
  return libraries;
}

std::vector<fs::path> own_libraries(std::string_view ldd) {
  std::vector<fs::path> libraries = linked_libraries(ldd);
  std::erase_if(libraries, [](const fs::path& library) {
    const std::string& path = library.native();
    return path.starts_with("/lib") || (path.starts_with("/usr/") && !path.starts_with("/usr/local/"));
  });
  return libraries;
}

json read_part(const fs::path& file) {
  const auto text = space::read_file(file, kLargestPart + 1);
  if (!text || text->size() > kLargestPart) return {};
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  return document.is_discarded() ? json() : document;
}

}  // namespace nocturne::deploy
