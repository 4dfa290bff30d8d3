#include "kernels/onednn/settings.hpp"

#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"

namespace nocturne::onednn {

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

}  // namespace nocturne::onednn
