#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne::space;
namespace fs = std::filesystem;

namespace {

// More than one piece, not a multiple of one, with bytes that end texts.
std::string long_bytes() {
  std::string bytes;
  for (int i = 0; i < 200'003; ++i) bytes += static_cast<char>(i * 7 % 251);
  return bytes;
}

}  // namespace

TEST_CASE("a file is read to its last byte, or to where its reader wants no more", "[file_contents]") {
  const std::string bytes = long_bytes();
  const nocturne::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "bytes";
  std::ofstream(file, std::ios::binary) << bytes;
  CHECK(read_file(file) == bytes);
  CHECK(read_file(file, 100'000) == bytes.substr(0, 100'000));
  CHECK(read_file(file, 0) == "");
  std::string pieces;
  CHECK(read_file_in_pieces(file, [&](std::string_view piece) { pieces += piece; }));
  CHECK(pieces == bytes);
  CHECK(sha256_of_file(file) == sha256(bytes));
}

TEST_CASE("a pipe is read to its end, and nobody waits for one that nobody writes to", "[file_contents]") {
  const nocturne::test::TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_file(pipe) == "");
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::thread writer([end = ends[1]] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(::write(end, "late", 4) == 4);
    ::close(end);
  });
  CHECK(read_file("/dev/fd/" + std::to_string(ends[0])) == "late");
  writer.join();
  ::close(ends[0]);
}

TEST_CASE("a file without a size of its own is read too", "[file_contents]") {
  const auto status = read_file("/proc/self/status");
  REQUIRE(status);
  CHECK(status->starts_with("Name:"));
}

// /proc/self/mem opens, and its first page is never there: the read fails, as it does for a process that just ended.
TEST_CASE("what cannot be read is nothing, and throws nothing", "[file_contents]") {
  for (const fs::path wrong : {"/nowhere/at/all", "/", "/proc/self/mem"}) {
    INFO(wrong);
    CHECK_FALSE(read_file(wrong).has_value());
    CHECK_FALSE(read_file_in_pieces(wrong, [](std::string_view) {}));
    CHECK_FALSE(sha256_of_file(wrong).has_value());
  }
}
