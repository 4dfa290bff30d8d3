// Versions of Python and which of them a recipe asks for.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "measure/environment/python_finder.hpp"

namespace nocturne::measure {
namespace {

/// "3.7" or "3.7.16"; how many numbers stood there in `parts`.
std::optional<PythonVersion> version_from(std::string_view text, int& parts) {
  std::array<int, 3> numbers{};
  parts = 0;
  while (parts < 3) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[static_cast<std::size_t>(parts)]);
    if (error != std::errc{} || end == text.data() || numbers[static_cast<std::size_t>(parts)] < 0) return std::nullopt;
    ++parts;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return PythonVersion{.major = numbers[0], .minor = numbers[1], .patch = numbers[2]};
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<bool> holds(PythonVersion version, std::string_view comparison) {
  constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", ">=", "<=", ">", "<"};
  const auto* sign =
      std::ranges::find_if(kSigns, [comparison](std::string_view s) { return comparison.starts_with(s); });
  if (sign == kSigns.end()) return std::nullopt;
  int parts = 0;
  const auto other = version_from(comparison.substr(sign->size()), parts);
  if (!other) return std::nullopt;
  // "<3.8" must leave 3.8.1 out and "==3.7" let 3.7.16 in: as many numbers are compared as are written.
  if (parts < 3) version.patch = 0;
  if (parts < 2) version.minor = 0;
  const auto order = version <=> *other;
  if (*sign == "==") return order == 0;
  if (*sign == "!=") return order != 0;
  if (*sign == ">=") return order >= 0;
  if (*sign == "<=") return order <= 0;
  return *sign == ">" ? order > 0 : order < 0;
}

}  // namespace

std::string to_text(const PythonVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::expected<bool, std::string> satisfies(const PythonVersion& version, std::string_view specifier) {
  bool all = true;
  while (!specifier.empty()) {
    const std::size_t end = std::min(specifier.find(','), specifier.size());
    std::string_view part = specifier.substr(0, end);
    specifier.remove_prefix(std::min(end + 1, specifier.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const auto one = holds(version, part);
    if (!one) {
      return std::unexpected(
          fmt::format("'{}' is no comparison of versions such as '>=3.6' or '==3.7' (signs: == != >= "
                      "<= > <)",
                      part));
    }
    all = all && *one;
  }
  return all;
}

std::expected<PythonInterpreter, std::string> choose_python(std::span<const PythonInterpreter> pythons,
                                                            std::string_view specifier) {
  const PythonInterpreter* best = nullptr;
  std::string there;
  for (const PythonInterpreter& python : pythons) {
    const auto fits = satisfies(python.version, specifier.empty() ? ">=3.6" : specifier);
    if (!fits) return std::unexpected(fits.error());
    if (*fits && (best == nullptr || python.version > best->version)) best = &python;
    const std::string text = to_text(python.version);
    if (!there.contains(text)) there += (there.empty() ? "" : ", ") + text;
  }
  if (best != nullptr) return *best;
  return std::unexpected(
      fmt::format("needs Python {}; this machine has {}. Get one, for example `uv python install VERSION` or `pyenv "
                  "install VERSION`, or "
                  "name its program in NOCTURNE_PYTHONS",
                  specifier.empty() ? ">=3.6" : specifier,
                  there.empty() ? "none with venv and pip (Debian: python3-venv)" : there));
}

}  // namespace nocturne::measure
