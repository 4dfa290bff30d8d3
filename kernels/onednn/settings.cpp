#include "kernels/onednn/settings.hpp"

#include "kernels/data/batch_source.hpp"
#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/worker/configuration_values.hpp"

namespace nocturne::onednn {
namespace {

using worker::find_value;
using worker::read_integer;
using worker::read_word;
using worker::refuse_value;

constexpr std::int64_t kMostThreads =
    1024;  // oneDNN and libgomp keep an array a thread; beyond it is a slip of the pen
constexpr std::int64_t kLargestBatch = 1 << 20;

}  // namespace

std::string_view to_text(Precision precision) {
  return precision == Precision::F32 ? "f32" : "bf16";
}

std::string_view to_text(Layout layout) {
  return layout == Layout::Blocked ? "blocked" : "plain";
}

void apply(const Settings& settings) {
  if (settings.threads > 0) set_threads(settings.threads);
  cap_instruction_set(settings.isa);
}

Settings read_settings(const nlohmann::json& configuration) {
  Settings settings;
  const std::string precision = read_word(configuration, "precision", "f32", "f32, bf16");
  if (precision != "f32" && precision != "bf16") refuse_value("precision", precision, "f32, bf16");
  settings.precision = precision == "f32" ? Precision::F32 : Precision::Bf16;
  const std::string layout = read_word(configuration, "layout", "blocked", "blocked, plain");
  if (layout != "blocked" && layout != "plain") refuse_value("layout", layout, "blocked, plain");
  settings.layout = layout == "blocked" ? Layout::Blocked : Layout::Plain;
  settings.batch = read_integer(configuration, "batch", settings.batch, kLargestBatch);
  settings.threads = static_cast<int>(read_integer(configuration, "threads", 0, kMostThreads));
  settings.data_threads = static_cast<int>(read_integer(configuration, "data_threads", 0, data::kMostDataThreads, 0));
  settings.prefetch = static_cast<int>(read_integer(configuration, "prefetch", settings.prefetch, data::kMostPrefetch));
  const char* key = find_value(configuration, "isa") != nullptr ? "isa" : "isa_cap";
  settings.isa = read_word(configuration, key, settings.isa, known_instruction_sets());
  if (!is_instruction_set(settings.isa)) refuse_value(key, settings.isa, known_instruction_sets());
  return settings;
}

}  // namespace nocturne::onednn
