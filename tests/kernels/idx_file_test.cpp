#include "kernels/data/idx_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/sha256.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::data {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using test::Bytes;

void require_refused(const test::TemporaryFolder& folder, const std::string& why) {
  REQUIRE_THROWS_MATCHES(read_idx(folder.path().string(), "data.gz"), DataError,
                         MessageMatches(ContainsSubstring(why) && ContainsSubstring("data.gz")));
}

}  // namespace

TEST_CASE("SHA-256 gives the published digests", "[data]") {
  const std::string abc = "abc", two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const auto digest = [](const std::string& text) { return sha256(Bytes(text.begin(), text.end())); };
  CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest(abc) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest(two_blocks) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("an IDX file is read as it was written", "[data]") {
  const test::TemporaryFolder folder;
  test::write_listed(folder.path(), "data.gz", test::gzip(test::idx({2, 3}, {1, 2, 3, 4, 5, 255})));
  const IdxArray array = read_idx(folder.path().string(), "data.gz");
  CHECK(array.dimensions == std::vector<std::int64_t>{2, 3});
  CHECK(Bytes(array.values, array.values + array.count) == Bytes{1, 2, 3, 4, 5, 255});
}

TEST_CASE("a file with a wrong checksum is refused", "[data]") {
  const test::TemporaryFolder folder;
  Bytes packed = test::gzip(test::idx({4}, {1, 2, 3, 4}));
  test::write_listed(folder.path(), "data.gz", packed);
  packed[packed.size() / 2] ^= 1;
  test::write_bytes(folder.path() / "data.gz", packed);
  require_refused(folder, "wrong checksum");
}

TEST_CASE("a file that is not listed, or has no list, is refused", "[data]") {
  const test::TemporaryFolder folder;
  test::write_bytes(folder.path() / "data.gz", test::gzip(test::idx({1}, {1})));
  require_refused(folder, "SHA256SUMS: is missing");
  test::write_listed(folder.path(), "other.gz", {1});
  require_refused(folder, "does not name");
}

TEST_CASE("a folder or a pipe in the place of the file is refused by name", "[data]") {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "data.gz").string();
  std::ofstream(folder.path() / "SHA256SUMS") << "00  data.gz\n";
  require_refused(folder, "cannot be opened: No such file");
  std::filesystem::create_directory(path);
  require_refused(folder, "cannot be opened: Is a directory");
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  require_refused(folder, "cannot be opened");
}

TEST_CASE("a torn file is refused even if its checksum is listed", "[data]") {
  const Bytes packed = test::gzip(test::idx({3000}, Bytes(3000, 7)));
  for (const std::size_t kept : {std::size_t{0}, std::size_t{5}, std::size_t{20}, packed.size() - 9}) {
    const test::TemporaryFolder folder;
    test::write_listed(folder.path(), "data.gz", Bytes(packed.begin(), packed.begin() + static_cast<long>(kept)));
    require_refused(folder, "gzip file");
  }
}

TEST_CASE("a file that is no IDX file, or lies about its size, is refused", "[data]") {
  const auto refused = [](const Bytes& content, const std::string& why) {
    const test::TemporaryFolder folder;
    test::write_listed(folder.path(), "data.gz", test::gzip(content));
    require_refused(folder, why);
  };
  refused({'h', 'e', 'l', 'l', 'o'}, "is not an IDX file");
  refused({0, 0, 13, 1, 0, 0, 0, 1, 0}, "no unsigned bytes");
  refused({0, 0, 8, 3, 0, 0}, "ends within its header");
  refused(test::idx({5}, {1, 2, 3}), "dimensions do not fit");
  refused(test::idx({0xffffffff, 0xffffffff, 0xffffffff}, {1}), "dimensions do not fit");
}

TEST_CASE("images and labels must fit each other and the network", "[data]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path().string();
  test::write_listed(folder.path(), "train-labels-idx1-ubyte.gz", test::gzip(test::idx({2}, {1, 10})));
  test::write_listed(folder.path(), "train-images-idx3-ubyte.gz",
                     test::gzip(test::idx({2, 28, 28}, Bytes(2 * 784, 0))));
  SourceOptions options{.folder = path, .image = {1, 28, 28}, .classes = 10, .batch = 2};
  const auto refused = [&](const char* why) {
    CHECK_THROWS_MATCHES(open_batches(options), DataError, MessageMatches(ContainsSubstring(why)));
  };
  refused("label that is no class");
  options.classes = 11;
  CHECK_NOTHROW(open_batches(options));
  options.image.height = 29;
  refused("have not the shape");
  options.folder = "";
  refused("is not named");
}

TEST_CASE("the shipped MNIST files are whole", "[data]") {
  SourceOptions options{.folder = std::string(NOCTURNE_SOURCE_DIR) + "/examples/data/mnist",
                        .image = {1, 28, 28},
                        .classes = 10,
                        .batch = 1,
                        .shuffle = false};
  std::vector<std::uint8_t> image(784);
  std::vector<std::int32_t> label(1);
  const auto train = open_batches(options);
  train->next_bytes(image, label);
  CHECK(train->count() == 60'000);
  CHECK(label[0] == 5);  // the first training image is a five, the first test image a seven
  options.split = Split::Test;
  const auto test = open_batches(options);
  test->next_bytes(image, label);
  CHECK(test->count() == 10'000);
  CHECK(label[0] == 7);
}

}  // namespace nocturne::data
