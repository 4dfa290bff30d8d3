#include "kernels/data/batch_source.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/data/stepped_source.hpp"
#include "tests/kernels/tiny_images.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::data {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

constexpr networks::Shape kSmall{3, 32, 32};

SourceOptions synthetic(std::int64_t batch) {
  return {.data = "synthetic", .image = kSmall, .classes = 1000, .batch = batch};
}

struct Batch {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Batch&, const Batch&) = default;
};

Batch take(BatchSource& source) {
  Batch batch;
  batch.labels.resize(static_cast<std::size_t>(source.next_size()));
  batch.bytes.resize(batch.labels.size() * static_cast<std::size_t>(source.image().elements()));
  source.next_bytes(batch.bytes, batch.labels);
  return batch;
}

std::vector<Batch> take(SourceOptions options, int count) {
  const auto source = open_batches(std::move(options));
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i) batches.push_back(take(*source));
  return batches;
}

std::vector<float> take_floats(BatchSource& source) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(source.next_size()));
  std::vector<float> images(labels.size() * static_cast<std::size_t>(source.image().elements()));
  source.next(images, labels);
  return images;
}

// MNIST's format: the label of image n is n % 10.
SourceOptions tiny_mnist(const test::TemporaryFolder& folder, std::int64_t batch) {
  return {.data = "mnist", .folder = folder.path().string(), .image = {1, 28, 28}, .classes = 10, .batch = batch};
}

}  // namespace

TEST_CASE("synthetic images are those of the Python workers", "[data]") {
  SourceOptions options = synthetic(256);
  options.shuffle = false;
  const std::vector<Batch> first = take(options, 1);
  const std::vector<std::uint8_t>& bytes = first[0].bytes;
  // The same numbers stand in tests/kernels/python/data_test.py.
  CHECK(std::vector<int>(bytes.begin(), bytes.begin() + 10) ==
        std::vector<int>{174, 155, 241, 73, 140, 60, 192, 80, 16, 94});
  CHECK(std::vector<int>(bytes.end() - 4, bytes.end()) == std::vector<int>{227, 185, 39, 167});
  CHECK(std::vector<int>(first[0].labels.begin(), first[0].labels.begin() + 6) ==
        std::vector<int>{392, 187, 563, 959, 816, 708});
  CHECK(first[0].labels.back() == 661);
}

TEST_CASE("synthetic images repeat, in epochs of whole batches that show all of them", "[data]") {
  CHECK(open_batches(synthetic(1))->count() == 256);
  CHECK(open_batches(synthetic(3))->count() == 86 * 3);
  CHECK(open_batches(synthetic(96))->count() == 64 * 96);
  SourceOptions options = synthetic(300);
  options.shuffle = false;
  options.partial_batch = true;
  const auto source = open_batches(options);
  CHECK(source->steps_per_epoch() == 64);
  const Batch batch = take(*source);
  const auto image = static_cast<std::ptrdiff_t>(kSmall.elements());
  CHECK(std::equal(batch.bytes.begin(), batch.bytes.begin() + image, batch.bytes.begin() + 256 * image));
  CHECK(batch.labels[3] == batch.labels[259]);
}

TEST_CASE("floats are the bytes scaled, exactly by 1/255", "[data]") {
  const auto floats = open_batches(synthetic(8)), bytes = open_batches(synthetic(8));
  const std::vector<float> images = take_floats(*floats);
  const Batch batch = take(*bytes);
  REQUIRE(images.size() == batch.bytes.size());
  bool same = true;
  for (std::size_t i = 0; i < images.size(); ++i)
    same = same && images[i] == static_cast<float>(batch.bytes[i]) * (1.0F / 255.0F);
  CHECK(same);
  CHECK(bytes->scaling().size() == 3);
}

TEST_CASE("channels last holds the same values at other places", "[data]") {
  SourceOptions options = synthetic(4);
  const auto planes = open_batches(options);
  options.channels_last = true;
  const auto interleaved = open_batches(options);
  const std::vector<float> a = take_floats(*planes), b = take_floats(*interleaved);
  const auto at = [](std::size_t n, std::size_t channel, std::size_t pixel) {
    return std::pair{(n * 3 + channel) * 1024 + pixel, (n * 1024 + pixel) * 3 + channel};
  };
  bool same = true;
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
        const auto [plane, inter] = at(n, channel, pixel);
        same = same && a[plane] == b[inter];
      }
    }
  }
  CHECK(same);
}

TEST_CASE("threads that read ahead change nothing but the time", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 250, 10);
  SourceOptions options = tiny_mnist(folder, 24);
  options.partial_batch = GENERATE(false, true);
  options.seed = 7;
  constexpr int kThreeEpochs = 33;  // 10 batches of 24 and one of 10, or none
  const std::vector<Batch> expected = take(options, kThreeEpochs);
  for (const int threads : {1, 2, 7}) {
    for (const int prefetch : {1, 2, 5}) {
      options.threads = threads;
      options.prefetch = prefetch;
      CHECK(take(options, kThreeEpochs) == expected);
    }
  }
}

TEST_CASE("a worker's own pool makes the same batch in parts", "[data]") {
  SourceOptions options = synthetic(10);
  const std::vector<Batch> expected = take(options, 3);
  int parts = 0;
  options.for_each_part = [&](std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) {
    for (std::int64_t end = count; end > 0; end -= 3, ++parts) part(std::max<std::int64_t>(0, end - 3), end);
  };
  CHECK(take(options, 3) == expected);
  CHECK(parts >= 3 * 4);
}

TEST_CASE("an epoch visits every image once, in an order of its own", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 50, 10);
  SourceOptions options = tiny_mnist(folder, 16);
  options.partial_batch = true;
  const auto source = open_batches(options);
  CHECK(source->steps_per_epoch() == 4);
  CHECK(source->examples() == 50);
  std::vector<std::vector<std::int32_t>> epochs(2);
  for (auto& labels : epochs) {
    std::set<std::vector<std::uint8_t>> images;
    for (const std::int64_t size : {16, 16, 16, 2}) {
      CHECK(source->next_size() == size);
      CHECK(source->next_ends_epoch() == (size == 2));
      const Batch batch = take(*source);
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
      for (auto at = batch.bytes.begin(); at != batch.bytes.end(); at += 784) images.emplace(at, at + 784);
    }
    CHECK(images.size() == 50);  // no two of them are alike
  }
  CHECK(epochs[0] != epochs[1]);
  std::ranges::sort(epochs[0]);
  std::ranges::sort(epochs[1]);
  CHECK(epochs[0] == epochs[1]);
}

TEST_CASE("a schedule takes its memory once, not in each epoch", "[data]") {
  SourceOptions options = synthetic(2);
  options.visits = GENERATE(std::vector<std::int32_t>{}, std::vector<std::int32_t>{3, 1, 2, 0});
  options.shuffle = GENERATE(false, true);
  Schedule schedule({.examples = 4, .batch = 2}, options);
  const auto* const begin = schedule.next().images.data();
  for (int step = 1; step < 20; ++step) CHECK(schedule.next().images.data() == begin + 2 * (step % 2));
}

TEST_CASE("without the smaller batch an epoch ends before it", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 50, 10);
  const auto source = open_batches(tiny_mnist(folder, 16));
  CHECK(source->steps_per_epoch() == 3);
  for (int i = 0; i < 7; ++i) {
    CHECK(source->next_size() == 16);
    CHECK(source->next_ends_epoch() == (i % 3 == 2));
    take(*source);
  }
}

TEST_CASE("visits are read as they are, epoch after epoch", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 50, 10);
  SourceOptions options = tiny_mnist(folder, 2);
  options.partial_batch = true;
  options.visits = {13, 49, 8};
  for (const int threads : {0, 2}) {
    options.threads = threads;
    const auto source = open_batches(options);
    CHECK(source->examples() == 3);
    CHECK(source->count() == 50);
    for (int epoch = 0; epoch < 2; ++epoch) {
      CHECK(take(*source).labels == std::vector<std::int32_t>{3, 9});
      CHECK(take(*source).labels == std::vector<std::int32_t>{8});
    }
  }
  options.visits = {50};
  CHECK_THROWS_MATCHES(open_batches(options), DataError, MessageMatches(ContainsSubstring("image 50 is asked for")));
}

TEST_CASE("a test set is read in its own order", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 50, 12);
  SourceOptions options = tiny_mnist(folder, 12);
  options.split = Split::Test;
  options.shuffle = false;
  CHECK(take(options, 1)[0].labels == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1});
}

TEST_CASE("a consumer may leave at any time, and the threads end", "[data]") {
  SourceOptions options = synthetic(64);
  options.threads = 4;
  options.prefetch = GENERATE(1, 3);
  const int taken = GENERATE(0, 1, 5);
  for (int again = 0; again < 20; ++again)
    CHECK(std::ssize(take(options, taken)) == taken);  // a hang would be the failure
}

TEST_CASE("waiting for data is measured", "[data]") {
  const auto source = open_batches(synthetic(32));
  CHECK(source->waited_ns() == 0);
  take(*source);
  const std::int64_t after_one = source->waited_ns();
  CHECK(after_one > 0);
  take(*source);
  CHECK(source->waited_ns() > after_one);
}

TEST_CASE("room of another size than the next batch is a mistake of the caller", "[data]") {
  const auto source = open_batches(synthetic(4));
  std::vector<float> images(static_cast<std::size_t>(4 * kSmall.elements()));
  std::vector<std::int32_t> labels(4);
  CHECK_THROWS_AS(source->next(images, std::span(labels).first(3)), std::logic_error);
  CHECK_THROWS_AS(source->next(std::span(images).first(images.size() - 1), labels), std::logic_error);
  CHECK_NOTHROW(source->next(images, labels));
}

TEST_CASE("what cannot be is refused with what is allowed", "[data]") {
  const test::TemporaryFolder folder;
  test::write_tiny_images(folder.path(), 20, 10);
  const auto refused = [](const SourceOptions& options, const char* why) {
    CHECK_THROWS_MATCHES(open_batches(options), UnsupportedData, MessageMatches(ContainsSubstring(why)));
  };
  SourceOptions options = synthetic(4);
  options.data = "cifar";
  refused(options, "unknown data set 'cifar', known: mnist, synthetic, folder");
  options = synthetic(4);
  options.threads = -1;
  refused(options, "data_threads = -1, allowed: a whole number from 0");
  options = synthetic(4);
  options.prefetch = 0;
  refused(options, "prefetch = 0, allowed: a whole number from 1");
  refused(synthetic(0), "batch = 0");
  options = synthetic(4);
  options.split = Split::Test;
  refused(options, "synthetic has no test images");
  refused(tiny_mnist(folder, 21), "batch 21 is larger than the data set of 20 images");
  options = tiny_mnist(folder, 16);
  options.visits = {1, 2, 3};
  refused(options, "larger than an epoch of 3 images");
}

}  // namespace nocturne::data
