// The file of initial weights and batches: an exception that names it, or a state that is written and read alike.

#include <cstdlib>
#include <stdexcept>

#include "measure/protocol/initial_state.hpp"
#include "tests/fuzz/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  static const fuzz::Scratch scratch;
  const auto path = scratch.file("initial-state", fuzz::as_text(data, size)).string();
  protocol::InitialState state;
  try {
    state = protocol::read_initial_state(path);
  } catch (const std::runtime_error&) {
    return 0;
  }
  protocol::write_initial_state(path, state);
  if (!(protocol::read_initial_state(path) == state)) std::abort();
  return 0;
}
