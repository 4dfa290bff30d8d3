#include "tuner/report/html/discretion.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <re2/re2.h>

namespace nocturne::report {
namespace {

constexpr std::size_t kShortestName = 2;  // one letter is part of too many texts

bool is_word(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '-';
}

/// A name where it is a word by itself: neither "train.py" names the user "train", nor "vmap" the host "vm".
void replace_name(std::string& text, const std::string& name, std::string_view by) {
  if (name.size() < kShortestName || name == "root" || name == "localhost") return;
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    // A dot goes on with a file's name, but ends a sentence, and a host's name may go on with its domain.
    const bool ends =
        end == text.size() ||
        (!is_word(text[end]) && (text[end] != '.' || end + 1 == text.size() || text[end + 1] == ' ' || by == "(host)"));
    if (begins && ends) text.replace(at, name.size(), by);
    at += begins && ends ? by.size() : name.size();
  }
}

/// Folders of users, whoever they are: what stands before the first folder below becomes "~".
void replace_homes(std::string& text, const std::string& home) {
  if (home.size() > 1) {
    for (std::size_t at = text.find(home); at != std::string::npos; at = text.find(home, at + 1)) {
      const std::size_t end = at + home.size();
      if ((at > 0 && (is_word(text[at - 1]) || text[at - 1] == '/')) || (end < text.size() && is_word(text[end])))
        continue;
      text.replace(at, home.size(), "~");
    }
  }
  static const RE2 homes("(^|[^A-Za-z0-9_/])/(?:home|Users)/[^/\\s'\":,;]+");
  RE2::GlobalReplace(&text, homes, "\\1~");
}

/// Letters of both cases with digits, or many hexadecimal digits: a word that nobody would type.
bool looks_drawn(std::string_view word) {
  const auto count = [word](auto is) {
    return std::ranges::count_if(word, [is](char byte) { return is(static_cast<unsigned char>(byte)) != 0; });
  };
  const auto digits = count([](int byte) { return std::isdigit(byte); });
  const auto upper = count([](int byte) { return std::isupper(byte); });
  const auto lower = count([](int byte) { return std::islower(byte); });
  const auto hexadecimal = count([](int byte) { return std::isxdigit(byte); });
  if (hexadecimal == std::ssize(word)) return word.size() >= 32;
  return word.size() >= 20 && digits >= 2 && upper >= 2 && lower >= 2;
}

void replace_tokens(std::string& text) {
  static const RE2 known("\\b(?:hf_|gh[opsu]_|github_pat_|glpat-|sk-|xox[abps]-|AKIA|eyJ)[A-Za-z0-9_.-]{8,}");
  RE2::GlobalReplace(&text, known, "…");
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == at) {
      kept += text[at++];
      continue;
    }
    const std::string_view word = std::string_view(text).substr(at, end - at);
    if (looks_drawn(word))
      kept += "…";
    else
      kept += word;
    at = end;
  }
  text = std::move(kept);
}

/// NAME=VALUE as a shell writes it, but of those that the space varies.
void replace_assignments(std::string& text, const std::set<std::string, std::less<>>& kept) {
  static const RE2 assignment("(^|[\\s;&|('\"])([A-Z_][A-Z0-9_]+)=(\"[^\"]*\"|'[^']*'|[^\\s;&|)'\"]+)");
  std::string result;
  std::string_view rest = text;
  re2::StringPiece input(text), before, name, value;
  while (RE2::FindAndConsume(&input, assignment, &before, &name, &value)) {
    const auto value_at = static_cast<std::size_t>(value.data() - rest.data());
    result += rest.substr(0, value_at);
    const std::string_view variable(name.data(), name.size());
    if (kept.contains(variable))
      result += std::string_view(value.data(), value.size());
    else
      result += "…";
    rest = rest.substr(value_at + value.size());
  }
  text = result + std::string(rest);
}

}  // namespace

std::string Discretion::text(std::string_view text) const {
  std::string result(text);
  if (!discreet_ || result.size() < kShortestName) return result;
  static const RE2 in_address("([A-Za-z][A-Za-z0-9+.-]*://)[^\\s/@]+@");
  static const RE2 of_option(
      "(?i)(--?[a-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|credentials?|auth)"
      "(?:=|\\s+))(?:\"[^\"]*\"|'[^']*'|[^\\s'\"]+)");
  static const RE2 of_word(
      "(?i)\\b([a-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key)\\s*[=:]\\s*)"
      "(?:\"[^\"]*\"|'[^']*'|[^\\s'\"]+)");
  RE2::GlobalReplace(&result, in_address, "\\1…@");
  RE2::GlobalReplace(&result, of_option, "\\1…");
  RE2::GlobalReplace(&result, of_word, "\\1…");
  replace_assignments(result, names_.parameters);
  replace_tokens(result);
  replace_homes(result, names_.home);
  for (const std::string& user : names_.users) replace_name(result, user, "(user)");
  for (const std::string& host : names_.hosts) replace_name(result, host, "(host)");
  return result;
}

nlohmann::json Discretion::document(nlohmann::json document) const {
  if (!discreet_) return document;
  if (document.is_string()) return text(document.get_ref<const std::string&>());
  if (document.is_structured())
    for (auto& each : document) each = this->document(std::move(each));
  return document;
}

}  // namespace nocturne::report
