#include "tuner/own_command/variation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "measure/run/launch.hpp"
#include "space/parse_number.hpp"

namespace nocturne::tuner {
namespace {

bool is_option_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Names by which people call the examples of a step; ours is what the statistics and the memory model look for.
constexpr std::array<std::string_view, 5> kBatchNames = {"batch_size", "batchsize", "bs", "train_batch_size", "b"};

/// Words of expressions, which no parameter may be called.
constexpr std::array<std::string_view, 9> kTaken = {"and", "or", "not", "in", "true", "false", "is", "if", "machine"};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',')
      parts.back() += text[++i];
    else if (text[i] == ',')
      parts.emplace_back();
    else
      parts.back() += text[i];
  return parts;
}

}  // namespace

space::Value written_value(const std::string& text) {
  if (const auto whole = space::parse_number<std::int64_t>(text); whole && std::to_string(*whole) == text)
    return *whole;
  if (const auto real = space::parse_number<double>(text); real && space::to_text(*real) == text) return *real;
  return text;
}

std::string Variation::parameter() const {
  if (variable) return "env." + name;
  std::string plain;
  for (const char c : name.substr(std::min(name.find_first_not_of('-'), name.size())))
    plain += is_option_letter(c) ? c : '_';
  if (std::ranges::find(kBatchNames, plain) != kBatchNames.end()) return "batch";
  const bool unusable = plain.empty() || std::isdigit(static_cast<unsigned char>(plain.front())) != 0 ||
                        std::ranges::find(kTaken, plain) != kTaken.end() || measure::is_launch_parameter(plain);
  return unusable ? "option_" + plain : plain;
}

std::expected<Variation, std::string> read_variation(std::string_view text) {
  const auto refused = [&](std::string_view why) {
    return std::unexpected(
        fmt::format("--vary '{}': {}; such as '--batch-size=32,64,128', '--amp' or 'VARIABLE=a,b'", text, why));
  };
  if (text.find('\0') != std::string_view::npos) return refused("it holds a zero byte");
  const std::size_t sign = text.find_first_of("= ");
  Variation variation{.name = std::string(text.substr(0, sign))};
  variation.variable = !variation.name.starts_with('-');
  const std::size_t body = variation.name.find_first_not_of('-');
  if (body > 2) return refused("that is no name of an option or a variable");
  const std::string_view letters = std::string_view(variation.name).substr(body);
  const bool plain = std::ranges::all_of(
      letters, [&](char c) { return is_option_letter(c) || (!variation.variable && (c == '-' || c == '.')); });
  if (!plain) return refused("that is no name of an option or a variable");
  if (variation.variable && std::isdigit(static_cast<unsigned char>(letters.front())) != 0)
    return refused("no variable begins with a digit");
  if (variation.variable && letters.starts_with("NOCTURNE_")) return refused("variables with NOCTURNE_ are ours");
  if (sign == std::string_view::npos) {
    if (variation.variable) return refused("a variable needs values");
    return variation;
  }
  variation.joined = text[sign] == '=';
  std::set<std::string> seen;
  for (std::string& word : split(text.substr(sign + 1))) {
    if (word.empty()) return refused("one of its values is empty");
    if (!seen.insert(word).second) return refused("a value stands there twice");
    variation.values.push_back(written_value(word));
  }
  const auto kind = [](const space::Value& value) { return value.index(); };
  if (!std::ranges::all_of(variation.values, [&](const auto& each) { return kind(each) == kind(variation.values[0]); }))
    for (space::Value& value : variation.values) value = space::to_text(value);
  return variation;
}

}  // namespace nocturne::tuner
