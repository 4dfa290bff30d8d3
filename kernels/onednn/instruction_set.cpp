#include "kernels/onednn/instruction_set.hpp"

#include <array>
#include <cctype>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/worker/refusal.hpp"

namespace nocturne::onednn {
namespace {

struct Name {
  std::string_view name;
  dnnl_cpu_isa_t value;
};

// Only what every oneDNN 3.x knows; a newer one's further names are still honoured through the environment.
constexpr std::array kNames = {
    Name{"auto", dnnl_cpu_isa_default},
    Name{"none", dnnl_cpu_isa_default},  // as the launcher says it
    Name{"SSE41", dnnl_cpu_isa_sse41},
    Name{"AVX", dnnl_cpu_isa_avx},
    Name{"AVX2", dnnl_cpu_isa_avx2},
    Name{"AVX2_VNNI", dnnl_cpu_isa_avx2_vnni},
    Name{"AVX2_VNNI_2", dnnl_cpu_isa_avx2_vnni_2},
    Name{"AVX512_CORE", dnnl_cpu_isa_avx512_core},
    Name{"AVX512_CORE_VNNI", dnnl_cpu_isa_avx512_core_vnni},
    Name{"AVX512_CORE_BF16", dnnl_cpu_isa_avx512_core_bf16},
    Name{"AVX512_CORE_FP16", dnnl_cpu_isa_avx512_core_fp16},
    Name{"AVX512_CORE_AMX", dnnl_cpu_isa_avx512_core_amx},
};

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(left[i])) != std::tolower(static_cast<unsigned char>(right[i])))
      return false;
  return true;
}

const Name* find(std::string_view name) {
  for (const Name& known : kNames)
    if (equal_ignoring_case(known.name, name)) return &known;
  return nullptr;
}

}  // namespace

bool is_instruction_set(std::string_view name) {
  return find(name) != nullptr;
}

std::string known_instruction_sets() {
  std::string all;
  for (const Name& known : kNames) all += (all.empty() ? "" : ", ") + std::string(known.name);
  return all;
}

void cap_instruction_set(std::string_view name) {
  const Name* known = find(name);
  if (known == nullptr) throw worker::Unsupported("unknown instruction set '" + std::string(name) + "'");
  if (known->value == dnnl_cpu_isa_default) return;
  if (dnnl_set_max_cpu_isa(known->value) != dnnl_success) {
    throw worker::Unsupported("oneDNN does not accept the cap " + std::string(known->name) +
                              ": it was built without caps, or has run a primitive already");
  }
}

std::string effective_instruction_set() {
  const auto effective = dnnl_get_effective_cpu_isa();
  for (const Name& known : kNames)
    if (known.value == effective && effective != dnnl_cpu_isa_default) return std::string(known.name);
  return effective == dnnl_cpu_isa_default ? "GENERIC" : "set " + std::to_string(static_cast<unsigned>(effective));
}

std::string_view bf16_support() {
  // The values are bit sets: a set contains all the bits of those it extends.
  const auto bits = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  const auto has = [bits](dnnl_cpu_isa_t set) {
    return (bits & static_cast<unsigned>(set)) == static_cast<unsigned>(set);
  };
  if (has(dnnl_cpu_isa_avx512_core_bf16)) return "native";
  return has(dnnl_cpu_isa_avx512_core) ? "emulated" : "none";
}

}  // namespace nocturne::onednn
