// The events of a worker, read while they grow: in two pieces, cut anywhere.

#include <cstdlib>

#include "measure/run/classify.hpp"
#include "measure/run/event_reader.hpp"
#include "tests/fuzz/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  static const fuzz::Scratch scratch;
  const std::string_view text = fuzz::as_text(data, size);
  const std::size_t cut = size > 0 ? data[0] % (size + 1) : 0;
  const auto path = scratch.file("events.jsonl", text.substr(0, cut));
  const auto folder = measure::RunFolder::open(path.parent_path());
  measure::EventReader reader(path.filename().string(), 1 << 16);
  reader.read(*folder);
  std::ofstream(path, std::ios::binary | std::ios::app) << text.substr(cut);
  reader.read(*folder);
  reader.close_phases(std::chrono::steady_clock::now());
  const measure::Events& events = reader.events();
  static_cast<void>(events.open_phase());
  measure::ExitFacts facts;
  facts.exit_code = 0;
  facts.wall = std::chrono::seconds(1);
  facts.processors = 2;
  const auto judged = measure::classify(events, facts, {.steps = 10, .accuracy = false});
  if (judged.outcome != space::Outcome::Ok && judged.reason.empty()) std::abort();
  return 0;
}
