#include "kernels/data/image_folder.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/data/jpeg_file.hpp"
#include "kernels/data/resample.hpp"
#include "tests/kernels/tiny_jpegs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::data {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using test::Bytes;

constexpr std::int64_t kSide = 16;

SourceOptions folder_options(const test::TemporaryFolder& folder, std::int64_t batch) {
  return {.data = "folder", .folder = folder.path().string(), .image = {3, kSide, kSide}, .classes = 3, .batch = batch};
}

struct SeenBatch {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> labels;
  friend bool operator==(const SeenBatch&, const SeenBatch&) = default;
};

SeenBatch see(BatchSource& source) {
  SeenBatch batch;
  batch.labels.resize(static_cast<std::size_t>(source.next_size()));
  batch.bytes.resize(batch.labels.size() * static_cast<std::size_t>(source.image().elements()));
  source.next_bytes(batch.bytes, batch.labels);
  return batch;
}

// Byte of an image in three planes.
int at(const SeenBatch& batch, std::int64_t image, std::int64_t channel, std::int64_t y, std::int64_t x) {
  return batch.bytes[static_cast<std::size_t>(((image * 3 + channel) * kSide + y) * kSide + x)];
}

// Three classes, `each` images in each; image n of a class has green 10 n.
void write_classes(const std::filesystem::path& folder, int each) {
  int red = 50;
  for (const char* name : {"ant", "bee", "cat"}) {
    for (int n = 0; n < each; ++n) {
      const std::string file = std::string(1, static_cast<char>('a' + n)) + ".jpg";
      test::write_image(folder / name / file,
                        test::plain_jpeg(static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(10 * n), 128));
    }
    red += 80;
  }
}

Bytes beginning(const Bytes& whole, double share) {
  return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(whole.size()))};
}

}  // namespace

TEST_CASE("classes and images are numbered in the order of their names", "[data]") {
  const test::TemporaryFolder folder;
  write_classes(folder.path(), 2);
  test::write_image(folder.path() / "ant" / ".thumbnail", {1, 2, 3});
  test::write_image(folder.path() / ".cache" / "x.jpg", {1, 2, 3});
  SourceOptions options = folder_options(folder, 6);
  options.shuffle = false;
  const auto source = open_batches(options);
  const SeenBatch batch = see(*source);
  CHECK(batch.labels == std::vector<std::int32_t>{0, 0, 1, 1, 2, 2});
  for (std::int64_t n = 0; n < 6; ++n) {
    CHECK(at(batch, n, 0, 3, 5) == Approx(50 + 80 * (n / 2)).margin(3));
    CHECK(at(batch, n, 1, 15, 0) == Approx(10 * (n % 2)).margin(3));
    CHECK(at(batch, n, 2, 0, 15) == Approx(128).margin(3));
  }
}

TEST_CASE("values are normalised by ImageNet's mean and deviation", "[data]") {
  const test::TemporaryFolder folder;
  test::write_image(folder.path() / "grey" / "a.jpeg", test::plain_jpeg(128, 128, 128));
  SourceOptions options = folder_options(folder, 1);
  options.channels_last = GENERATE(false, true);
  const auto source = open_batches(options);
  std::vector<float> image(static_cast<std::size_t>(3 * kSide * kSide));
  std::vector<std::int32_t> label(1);
  source->next(image, label);
  const std::size_t next = options.channels_last ? 1 : kSide * kSide;
  CHECK(image[0] == Approx((128 / 255.0 - 0.485) / 0.229).margin(0.03));
  CHECK(image[next] == Approx((128 / 255.0 - 0.456) / 0.224).margin(0.03));
  CHECK(image[2 * next] == Approx((128 / 255.0 - 0.406) / 0.225).margin(0.03));
}

TEST_CASE("threads read a folder's images as one reader does, epoch by epoch", "[data]") {
  const test::TemporaryFolder folder;
  for (const unsigned n : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) {  // not plain: another crop is another image
    test::write_image(
        folder.path() / "one" / (std::to_string(n) + ".jpg"), test::jpeg(60 + n, 40, [n](unsigned x, unsigned y) {
          return std::array<std::uint8_t, 4>{static_cast<std::uint8_t>(4 * x), static_cast<std::uint8_t>(6 * y),
                                             static_cast<std::uint8_t>(30 * n), 0};
        }));
  }
  SourceOptions options = folder_options(folder, 3);
  options.partial_batch = true;
  std::vector<SeenBatch> expected;
  const auto alone = open_batches(options);
  for (int i = 0; i < 9; ++i) expected.push_back(see(*alone));
  CHECK(expected[0] != expected[3]);  // another epoch: another order, other crops
  options.threads = GENERATE(1, 4);
  options.prefetch = GENERATE(1, 4);
  const auto source = open_batches(options);
  for (int i = 0; i < 9; ++i) CHECK(see(*source) == expected[static_cast<std::size_t>(i)]);
  options.seed = 2;
  CHECK(see(*open_batches(options)) != expected[0]);
}

TEST_CASE("a file that cannot be decoded is an error that names it", "[data]") {
  const Bytes whole = test::jpeg(64, 64, [](unsigned x, unsigned y) {
    return std::array<std::uint8_t, 4>{static_cast<std::uint8_t>(x * y), static_cast<std::uint8_t>(x * 37), 9, 0};
  });
  const auto [content, why] = GENERATE_COPY(table<Bytes, std::string>({{beginning(whole, 0.9), "Premature end"},
                                                                       {beginning(whole, 0.4), "Premature end"},
                                                                       {beginning(whole, 0.01), "cannot be decoded"},
                                                                       {Bytes{}, "cannot be decoded"},
                                                                       {Bytes(300, 'a'), "Not a JPEG file"}}));
  const test::TemporaryFolder folder;
  test::write_image(folder.path() / "one" / "torn.jpg", content);
  SourceOptions options = folder_options(folder, 1);
  for (const int threads : {0, 2}) {
    options.threads = threads;
    const auto source = open_batches(options);
    for (int again = 0; again < 2; ++again) {
      CHECK_THROWS_MATCHES(see(*source), DataError,
                           MessageMatches(ContainsSubstring("one/torn.jpg: ") && ContainsSubstring(why)));
    }
  }
}

TEST_CASE("an error comes with the batch that has the image, not before", "[data]") {
  const test::TemporaryFolder folder;
  write_classes(folder.path(), 4);
  test::write_image(folder.path() / "bee" / "c.jpg", {1, 2, 3});  // number 6 of 12
  SourceOptions options = folder_options(folder, 2);
  options.visits = {0, 1, 2, 3, 4, 6, 7, 8};
  for (const int threads : {0, 1, 5}) {
    options.threads = threads;
    options.prefetch = 4;
    const auto source = open_batches(options);
    CHECK_NOTHROW(see(*source));
    CHECK_NOTHROW(see(*source));
    CHECK_THROWS_MATCHES(see(*source), DataError, MessageMatches(ContainsSubstring("bee/c.jpg")));
  }
}

TEST_CASE("skip_broken lets the next image that can be decoded stand in, and counts", "[data]") {
  const test::TemporaryFolder folder;
  write_classes(folder.path(), 2);
  test::write_image(folder.path() / "ant" / "b.jpg", {1, 2, 3});
  test::write_image(folder.path() / "bee" / "a.jpg", {1, 2, 3});
  test::write_image(folder.path() / "bee" / "list.txt", {1, 2, 3});
  SourceOptions options = folder_options(folder, 6);
  CHECK_THROWS_MATCHES(open_batches(options), DataError, MessageMatches(ContainsSubstring("bee/list.txt: is no JPEG")));
  options.shuffle = false;
  options.skip_broken = true;
  options.threads = GENERATE(0, 3);
  options.prefetch = 1;
  const auto source = open_batches(options);
  CHECK(source->count() == 6);
  if (options.threads == 0) CHECK(source->skipped() == 1);  // the list; nothing is read ahead
  const SeenBatch batch = see(*source);
  CHECK(batch.labels == std::vector<std::int32_t>{0, 1, 1, 1, 2, 2});
  CHECK(at(batch, 1, 0, 0, 0) == at(batch, 3, 0, 0, 0));
  CHECK(source->skipped() >= 1 + 2 + 1);  // ant/b passes over two, bee/a over one; threads may be an epoch ahead
}

TEST_CASE("where nothing can be decoded, skipping ends too", "[data]") {
  const test::TemporaryFolder folder;
  test::write_image(folder.path() / "one" / "a.jpg", {1});
  test::write_image(folder.path() / "one" / "b.jpg", {});
  SourceOptions options = folder_options(folder, 1);
  options.skip_broken = true;
  CHECK_THROWS_MATCHES(see(*open_batches(options)), DataError,
                       MessageMatches(ContainsSubstring("nor any other image")));
}

TEST_CASE("a folder is checked before anything is trained", "[data]") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const SourceOptions& options, const char* why) {
    CHECK_THROWS_MATCHES(open_batches(options), DataError, MessageMatches(ContainsSubstring(why)));
  };
  SourceOptions options = folder_options(folder, 1);
  refused(options, "there is no class in it");
  std::filesystem::create_directory(folder.path() / "empty");
  refused(options, "empty: there is no JPEG in it");
  std::filesystem::remove(folder.path() / "empty");
  write_classes(folder.path(), 1);
  options.classes = 2;
  refused(options, "it has 3 classes, the network has 2");
  options.folder += "/nowhere";
  refused(options, "nowhere: cannot be read");
  options.folder = "";
  refused(options, "not named");
  options = folder_options(folder, 1);
  options.image.channels = 1;
  CHECK_THROWS_MATCHES(open_batches(options), UnsupportedData, MessageMatches(ContainsSubstring("3 channels")));
}

TEST_CASE("a set for testing is its own folder, and shows the middle of each image", "[data]") {
  const test::TemporaryFolder folder;
  write_classes(folder.path() / "train", 2);
  SourceOptions options = folder_options(folder, 1);
  CHECK(open_batches(options)->count() == 6);
  options.split = Split::Test;
  options.shuffle = false;
  CHECK_THROWS_MATCHES(open_batches(options), UnsupportedData, MessageMatches(ContainsSubstring("no folder 'val'")));
  // Bright only in the middle half; 7/8 of the height is shown.
  test::write_image(folder.path() / "val" / "ant" / "a.jpg", test::jpeg(128, 64, [](unsigned x, unsigned) {
                      return std::array<std::uint8_t, 4>{static_cast<std::uint8_t>(x >= 32 && x < 96 ? 250 : 0), 0, 0,
                                                         0};
                    }));
  const auto source = open_batches(options);
  const SeenBatch once = see(*source), again = see(*source);
  CHECK(once == again);
  CHECK(at(once, 0, 0, 8, 0) > 240);
  CHECK(at(once, 0, 0, 8, kSide - 1) > 240);
}

TEST_CASE("a class has one number, also where the set for testing lacks those before it", "[data]") {
  const test::TemporaryFolder folder;
  write_classes(folder.path() / "train", 1);
  for (const char* name : {"bee", "cat"})
    test::write_image(folder.path() / "val" / name / "a.jpg", test::plain_jpeg(1, 2, 3));
  SourceOptions options = folder_options(folder, 2);
  options.split = Split::Test;
  options.shuffle = false;
  CHECK(see(*open_batches(options)).labels == std::vector<std::int32_t>{1, 2});
  test::write_image(folder.path() / "val" / "dog" / "a.jpg", test::plain_jpeg(1, 2, 3));
  CHECK_THROWS_MATCHES(open_batches(options), DataError,
                       MessageMatches(ContainsSubstring("val/dog: there is no class of this name to train with")));
}

TEST_CASE("grey and CMYK pictures become RGB", "[data]") {
  const test::TemporaryFolder folder;
  const auto paint = [](std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return [=](unsigned, unsigned) { return std::array<std::uint8_t, 4>{a, b, c, d}; };
  };
  test::write_image(folder.path() / "one" / "a.jpg", test::jpeg(40, 40, paint(90, 0, 0, 0), 1));
  // libjpeg writes Adobe's marker with CMYK, so the inks are inverted: 255 is none.
  test::write_image(folder.path() / "one" / "b.jpg", test::jpeg(40, 40, paint(200, 100, 50, 255), 4));
  SourceOptions options = folder_options(folder, 2);
  options.shuffle = false;
  const SeenBatch batch = see(*open_batches(options));
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    CHECK(at(batch, 0, channel, 7, 7) == Approx(90).margin(3));
    CHECK(at(batch, 1, channel, 7, 7) == Approx(channel == 0 ? 200 : channel == 1 ? 100 : 50).margin(4));
  }
}

TEST_CASE("a large picture decoded small shows what the large one shows", "[data]") {
  // Red grows to the right, green downwards. A crop of half the side, on 16 pixels: decoded at 1/8.
  const Bytes file = test::jpeg(512, 512, [](unsigned x, unsigned y) {
    return std::array<std::uint8_t, 4>{static_cast<std::uint8_t>(x / 2), static_cast<std::uint8_t>(y / 2), 0, 0};
  });
  const bool flipped = GENERATE(false, true);
  const Crop crop{.left = 100, .top = 200, .width = 256, .height = 256, .flipped = flipped};
  std::vector<std::uint8_t> pixels, into(3 * 16 * 16);
  std::vector<float> rows;
  const DecodedPicture small = decode_jpeg(file, [&](std::int64_t, std::int64_t) { return crop; }, 16, 16, pixels);
  CHECK(small.picture.width == 64);
  CHECK(small.picture.height < 64);  // rows beside the crop are passed over
  resample(small.picture, small.region, 16, 16, true, into.data(), rows);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const int from_left = flipped ? 15 - x : x;
      const auto* pixel = into.data() + (y * 16 + x) * 3;
      CHECK(int{pixel[0]} == Approx((100 + 16 * (from_left + 0.5)) / 2).margin(3));
      CHECK(int{pixel[1]} == Approx((200 + 16 * (y + 0.5)) / 2).margin(3));
    }
  }
}

TEST_CASE("resampling to the same size changes nothing, and halving takes means", "[data]") {
  const std::vector<std::uint8_t> pixels = {10, 20, 30, 50, 60, 70, 90, 100, 110, 130, 140, 150};  // 4 × 1
  std::vector<std::uint8_t> same(12), planes(12), half(6);
  std::vector<float> rows;
  const Picture picture{.pixels = pixels.data(), .width = 4, .height = 1};
  const Region all{.left = 0, .top = 0, .width = 4, .height = 1};
  resample(picture, all, 4, 1, true, same.data(), rows);
  CHECK(same == pixels);
  resample(picture, all, 4, 1, false, planes.data(), rows);
  CHECK(planes == std::vector<std::uint8_t>{10, 50, 90, 130, 20, 60, 100, 140, 30, 70, 110, 150});
  resample(picture, all, 2, 1, true, half.data(), rows);
  // The triangle around 1 reaches from -1 to 3: weights 3/4, 3/4, 1/4 of pixels at 0.5, 1.5, 2.5.
  CHECK(int{half[0]} == Approx((10 * 0.75 + 50 * 0.75 + 90 * 0.25) / 1.75).margin(1));
  CHECK(int{half[3]} == Approx((50 * 0.25 + 90 * 0.75 + 130 * 0.75) / 1.75).margin(1));
}

TEST_CASE("a random crop lies in the picture and is a function of seed, epoch and image", "[data]") {
  std::int64_t flips = 0;
  for (std::int64_t image = 0; image < 400; ++image) {
    const std::int64_t width = 1 + image % 37 * 11, height = 1 + image % 23 * 17;
    const Crop crop = random_crop(width, height, 5, 3, image);
    REQUIRE(crop.left >= 0);
    REQUIRE(crop.top >= 0);
    REQUIRE(crop.width >= 1);
    REQUIRE(crop.height >= 1);
    REQUIRE(crop.left + crop.width <= width);
    REQUIRE(crop.top + crop.height <= height);
    flips += crop.flipped ? 1 : 0;
  }
  CHECK(flips > 150);
  CHECK(flips < 250);
  const Crop crop = random_crop(500, 375, 1, 0, 9);
  CHECK(crop == random_crop(500, 375, 1, 0, 9));
  CHECK(crop != random_crop(500, 375, 2, 0, 9));
  CHECK(crop != random_crop(500, 375, 1, 1, 9));
  CHECK(crop != random_crop(500, 375, 1, 0, 10));
}

TEST_CASE("random crops keep to the areas and shapes of their rule", "[data]") {
  double smallest = 1, largest = 0;
  for (std::int64_t image = 0; image < 1000; ++image) {
    const Crop crop = random_crop(500, 400, 1, 0, image);
    const double area = static_cast<double>(crop.width * crop.height) / (500.0 * 400.0);
    const double ratio = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
    REQUIRE(ratio > 0.74);
    REQUIRE(ratio < 1.35);
  }
  CHECK(smallest == Approx(0.08).margin(0.02));
  CHECK(largest > 0.9);
  // No try fits into a stripe: its middle, as wide as a crop of its height may be.
  CHECK(random_crop(1000, 30, 1, 0, 0).width == 40);
  CHECK(random_crop(1000, 30, 1, 0, 0).left == 480);
}

}  // namespace nocturne::data
