#include "kernels/onednn/idx_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/onednn/image_set.hpp"
#include "kernels/onednn/refusal.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::onednn {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using test::Bytes;

void require_refused(const test::TemporaryFolder& folder, const std::string& why) {
  REQUIRE_THROWS_MATCHES(read_idx(folder.path().string(), "data.gz"), DataError,
                         MessageMatches(ContainsSubstring(why) && ContainsSubstring("data.gz")));
}

}  // namespace

TEST_CASE("SHA-256 gives the published digests", "[onednn]") {
  const std::string abc = "abc", two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const auto digest = [](const std::string& text) { return sha256(Bytes(text.begin(), text.end())); };
  CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest(abc) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest(two_blocks) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(digest(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("an IDX file is read as it was written", "[onednn]") {
  const test::TemporaryFolder folder;
  test::write_listed(folder.path(), "data.gz", test::gzip(test::idx({2, 3}, {1, 2, 3, 4, 5, 255})));
  const IdxArray array = read_idx(folder.path().string(), "data.gz");
  CHECK(array.dimensions == std::vector<std::int64_t>{2, 3});
  CHECK(Bytes(array.values, array.values + array.count) == Bytes{1, 2, 3, 4, 5, 255});
}

TEST_CASE("a file with a wrong checksum is refused", "[onednn]") {
  const test::TemporaryFolder folder;
  Bytes packed = test::gzip(test::idx({4}, {1, 2, 3, 4}));
  test::write_listed(folder.path(), "data.gz", packed);
  packed[packed.size() / 2] ^= 1;
  test::write_bytes(folder.path() / "data.gz", packed);
  require_refused(folder, "wrong checksum");
}

TEST_CASE("a file that is not listed, or has no list, is refused", "[onednn]") {
  const test::TemporaryFolder folder;
  test::write_bytes(folder.path() / "data.gz", test::gzip(test::idx({1}, {1})));
  require_refused(folder, "SHA256SUMS: is missing");
  test::write_listed(folder.path(), "other.gz", {1});
  require_refused(folder, "does not name");
}

TEST_CASE("a torn file is refused even if its checksum is listed", "[onednn]") {
  const Bytes packed = test::gzip(test::idx({3000}, Bytes(3000, 7)));
  for (const std::size_t kept : {std::size_t{0}, std::size_t{5}, std::size_t{20}, packed.size() - 9}) {
    const test::TemporaryFolder folder;
    test::write_listed(folder.path(), "data.gz", Bytes(packed.begin(), packed.begin() + static_cast<long>(kept)));
    require_refused(folder, "gzip file");
  }
}

TEST_CASE("a file that is no IDX file, or lies about its size, is refused", "[onednn]") {
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

TEST_CASE("images and labels must fit each other and the network", "[onednn]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path().string();
  test::write_listed(folder.path(), "train-labels-idx1-ubyte.gz", test::gzip(test::idx({2}, {1, 10})));
  test::write_listed(folder.path(), "train-images-idx3-ubyte.gz",
                     test::gzip(test::idx({2, 28, 28}, Bytes(2 * 784, 0))));
  CHECK_THROWS_MATCHES(load_images("mnist", path, Split::Train, networks::kMnistCnn), DataError,
                       MessageMatches(ContainsSubstring("label that is no class")));
  CHECK_THROWS_AS(load_images("cifar", path, Split::Train, networks::kMnistCnn), Unsupported);
  CHECK_THROWS_AS(load_images("mnist", "", Split::Train, networks::kMnistCnn), DataError);
}

TEST_CASE("the shipped MNIST files are whole", "[onednn]") {
  const std::string folder = std::string(NOCTURNE_SOURCE_DIR) + "/examples/data/mnist";
  const ImageSet train = load_images("mnist", folder, Split::Train, networks::kMnistCnn);
  const ImageSet test = load_images("mnist", folder, Split::Test, networks::kMnistCnn);
  CHECK(train.count() == 60'000);
  CHECK(test.count() == 10'000);
  CHECK(static_cast<int>(train.labels.values[0]) == 5);  // the first training image is a five, the first test image a
  CHECK(static_cast<int>(test.labels.values[0]) == 7);   // seven
}

}  // namespace nocturne::onednn
