#include "measure/environment/requirement.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "space/digest.hpp"

namespace nocturne::measure {
namespace {

constexpr std::string_view kHash = " --hash=sha256:";
constexpr std::size_t kHashDigits = 64;
constexpr std::array<std::string_view, 3> kOwnTools = {"pip", "setuptools", "wheel"};
constexpr std::array<std::string_view, 7> kComparisons = {"==", ">=", "<=", "!=", "~=", "<", ">"};  // longest first

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Letters, digits and ".-_" between them; the length of what begins `text`.
std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (is_alnum(text[length]) || std::string_view(".-_").contains(text[length]))) ++length;
  if (length == 0 || !is_alnum(text.front()) || !is_alnum(text[length - 1])) return 0;
  return length;
}

bool skip_extras(std::string_view& rest) {
  if (!rest.starts_with('[')) return true;
  do {
    rest.remove_prefix(1);
    const std::size_t length = name_length(rest);
    if (length == 0) return false;
    rest.remove_prefix(length);
  } while (rest.starts_with(','));
  if (!rest.starts_with(']')) return false;
  rest.remove_prefix(1);
  return true;
}

bool skip_comparison(std::string_view& rest) {
  const auto* found =
      std::ranges::find_if(kComparisons, [rest](std::string_view sign) { return rest.starts_with(sign); });
  if (found == kComparisons.end()) return false;
  rest.remove_prefix(found->size());
  std::size_t length = 0;
  while (length < rest.size() && (is_alnum(rest[length]) || std::string_view(".*+!_-").contains(rest[length])))
    ++length;
  if (length == 0 || !is_alnum(rest.front())) return false;
  rest.remove_prefix(length);
  return true;
}

}  // namespace

bool is_plain_requirement(std::string_view text) {
  const std::size_t length = name_length(text);
  if (length == 0) return false;
  std::string_view rest = text.substr(length);
  if (!skip_extras(rest)) return false;
  if (rest.empty()) return true;
  if (!skip_comparison(rest)) return false;
  while (rest.starts_with(',')) {
    rest.remove_prefix(1);
    if (!skip_comparison(rest)) return false;
  }
  return rest.empty();
}

std::string package_of(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, name_length(text)))
    if (is_alnum(c))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!result.ends_with('-'))
      result += '-';
  return result;
}

bool is_locked_package(std::string_view line) {
  const std::string_view version = version_in_lock(line);
  if (!version.contains("==") || !is_plain_requirement(version)) return false;
  std::string_view rest = line.substr(version.size());
  while (rest.starts_with(kHash)) {
    rest.remove_prefix(kHash.size());
    if (!space::is_sha256(rest.substr(0, kHashDigits))) return false;
    rest.remove_prefix(kHashDigits);
  }
  return rest.empty();
}

std::string_view version_in_lock(std::string_view line) {
  return line.substr(0, line.find(kHash));
}

bool has_hash(std::string_view line) {
  return line.contains(kHash);
}

std::string with_hash(std::string_view line, std::string_view sha256) {
  return std::string(line).append(kHash).append(sha256);
}

bool is_own_tool(std::string_view line) {
  return !has_hash(line) && std::ranges::find(kOwnTools, package_of(line)) != kOwnTools.end();
}

bool same_versions(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto versions = [](const std::vector<std::string>& lock) {
    std::vector<std::string> result;
    for (const std::string& line : lock) {
      const std::string version(version_in_lock(line));
      if (!is_own_tool(version)) result.push_back(version);
    }
    std::ranges::sort(result);
    return result;
  };
  return versions(a) == versions(b);
}

}  // namespace nocturne::measure
