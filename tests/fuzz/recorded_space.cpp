// Recorded spaces in all their formats. Of an input with a NUL in it, what follows is a second file: measurements.

#include <array>
#include <cstdlib>
#include <vector>

#include "search/replay/load.hpp"
#include "search/replay/python_values.hpp"
#include "tests/fuzz/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nocturne;
  static const fuzz::Scratch scratch;
  const std::string_view text = fuzz::as_text(data, size);
  const std::size_t middle = text.find('\0');
  const auto check = [](const std::vector<std::filesystem::path>& paths) {
    const auto spaces = search::replay::load(paths);
    if (!spaces && spaces.error().empty()) std::abort();
  };
  if (middle == std::string_view::npos) {
    check({scratch.file("one.json", text)});
    static_cast<void>(search::replay::parse_python_values(text));
    return 0;
  }
  const std::string_view first = text.substr(0, middle), second = text.substr(middle + 1);
  check({scratch.file("problem.json", first), scratch.file("results.json", second)});
  static_cast<void>(scratch.file("space/space.json", first));
  static_cast<void>(scratch.file("space/results.csv", second));
  check({scratch.folder() / "space"});
  return 0;
}
