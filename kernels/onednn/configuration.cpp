#include "kernels/onednn/configuration.hpp"

#include <cmath>

#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/refusal.hpp"

namespace nocturne::onednn {
namespace {

constexpr std::int64_t kMostThreads =
    1024;  // oneDNN and libgomp keep an array a thread; beyond it is a slip of the pen
constexpr std::int64_t kLargestBatch = 1 << 20;

[[noreturn]] void refuse(const char* key, const nlohmann::json& value, const std::string& allowed) {
  throw Unsupported(std::string("configuration: ") + key + " = " + value.dump() + ", allowed: " + allowed);
}

const nlohmann::json* find(const nlohmann::json& configuration, const char* key) {
  const auto found = configuration.find(key);
  return found == configuration.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t read_integer(const nlohmann::json& configuration, const char* key, std::int64_t otherwise,
                          std::int64_t most) {
  const nlohmann::json* value = find(configuration, key);
  if (value == nullptr) return otherwise;
  const std::string allowed = "a whole number from 1 to " + std::to_string(most);
  if (!value->is_number()) refuse(key, *value, allowed);
  const double number = value->get<double>();
  if (number < 1 || number > static_cast<double>(most) || number != std::floor(number)) refuse(key, *value, allowed);
  return static_cast<std::int64_t>(number);
}

std::string read_word(const nlohmann::json& configuration, const char* key, const std::string& otherwise,
                      const std::string& allowed) {
  const nlohmann::json* value = find(configuration, key);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) refuse(key, *value, allowed);
  return value->get<std::string>();
}

}  // namespace

Settings read_settings(const nlohmann::json& configuration) {
  Settings settings;
  const std::string precision = read_word(configuration, "precision", "f32", "f32, bf16");
  if (precision != "f32" && precision != "bf16") refuse("precision", precision, "f32, bf16");
  settings.precision = precision == "f32" ? Precision::F32 : Precision::Bf16;
  const std::string layout = read_word(configuration, "layout", "blocked", "blocked, plain");
  if (layout != "blocked" && layout != "plain") refuse("layout", layout, "blocked, plain");
  settings.layout = layout == "blocked" ? Layout::Blocked : Layout::Plain;
  settings.batch = read_integer(configuration, "batch", settings.batch, kLargestBatch);
  settings.threads = static_cast<int>(read_integer(configuration, "threads", 0, kMostThreads));
  const char* key = find(configuration, "isa") != nullptr ? "isa" : "isa_cap";
  settings.isa = read_word(configuration, key, settings.isa, known_instruction_sets());
  if (!is_instruction_set(settings.isa)) refuse(key, settings.isa, known_instruction_sets());
  return settings;
}

}  // namespace nocturne::onednn
