// A profile: refused with a sentence, or one that every exporter writes and that is read again as it was.

#include <cstdlib>

#include "tests/fuzz/scratch.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/profile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  static const fuzz::Scratch scratch;
  const auto profile = deploy::load_profile(scratch.file("profile.json", fuzz::as_text(data, size)));
  if (!profile) {
    if (profile.error().empty()) std::abort();
    return 0;
  }
  for (const deploy::Exporter& exporter : deploy::exporters())
    if (exporter.text(*profile).find('\0') != std::string::npos) std::abort();
  const auto again = deploy::profile_from_json(deploy::to_json(*profile));
  if (!again || !(*again == *profile)) std::abort();
  return 0;
}
