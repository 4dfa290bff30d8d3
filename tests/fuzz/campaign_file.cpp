// A campaign file: whatever stands in it, a specification or problems with their places.

#include <cstdlib>

#include "tests/fuzz/scratch.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  static const space::Facts facts({{"machine.cores", std::int64_t{8}},
                                   {"machine.memory_bytes", std::int64_t{1} << 34},
                                   {"machine.isa", std::vector<std::string>{"avx2", "avx512_bf16"}},
                                   {"machine.compilers", std::vector<std::string>{"g++"}}});
  static const fuzz::Scratch scratch;  // `extends` finds nothing here
  const auto spec = tuner::parse_campaign(fuzz::as_text(data, size), "fuzz.json", scratch.folder(), facts);
  if (!spec) {
    if (spec.error().empty() || tuner::to_text(spec.error()).empty()) std::abort();
    return 0;
  }
  const auto configuration = spec->space.default_configuration();
  if (!spec->space.contains(configuration)) std::abort();
  if (spec->identity().empty()) std::abort();
  return 0;
}
