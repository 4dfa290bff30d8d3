// An order of another process: refused with place and reason, or one that is written and read again as it was.

#include <cstdlib>

#include "tests/fuzz/scratch.hpp"
#include "tuner/executor/order_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  const auto order = tuner::order_from_text(fuzz::as_text(data, size));
  if (!order) {
    if (!order.error().starts_with("/")) std::abort();
    return 0;
  }
  const auto document = tuner::to_json(*order);
  const auto again = tuner::order_from_json(document);
  if (!again || tuner::to_json(*again) != document) std::abort();
  return 0;
}
