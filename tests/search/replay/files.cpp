#include "tests/search/replay/files.hpp"

#include <zlib.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>

namespace nocturne::test {

namespace fs = std::filesystem;

fs::path Files::write(const std::string& name, std::string_view text) const {
  const auto file = path() / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

fs::path Files::write_gzip(const std::string& name, std::string_view text) const {
  const auto file = path() / name;
  fs::create_directories(file.parent_path());
  auto* out = gzopen(file.c_str(), "wb");
  REQUIRE(out != nullptr);
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  REQUIRE(gzclose(out) == Z_OK);
  return file;
}

fs::path Files::write_space(const std::string& name, std::string_view description, std::string_view results) const {
  (void)write(name + "/space.json", description);
  (void)write(name + "/results.csv", results);
  return path() / name;
}

search::replay::RecordedSpace loaded(const std::vector<fs::path>& paths) {
  auto spaces = search::replay::load(paths);
  if (!spaces) FAIL(spaces.error());
  REQUIRE(spaces->size() == 1);
  return std::move(spaces->front());
}

std::string refusal(const std::vector<fs::path>& paths) {
  const auto spaces = search::replay::load(paths);
  REQUIRE_FALSE(spaces.has_value());
  return spaces.error();
}

}  // namespace nocturne::test
