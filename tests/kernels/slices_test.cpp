#include "kernels/onednn/slices.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "kernels/networks/mnist_cnn.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;

std::string names(const std::vector<Operation>& list) {
  std::string all;
  for (const Operation& each : list) all += each.name + std::to_string(each.slice) + " ";
  return all;
}

Operation operation(const std::string& name, std::int64_t slice) {
  return {.layer = 0, .slice = slice, .name = name, .run = {}, .completes_row = false};
}

}  // namespace

TEST_CASE("a slice divides the batch, fits the cache, and has an image a thread", "[onednn]") {
  const auto rows = networks::figures(networks::kMnistCnn);
  // conv2 reads 21,632 and writes 36,864 values an image: 4 images in 1 MiB of f32, 8 of bf16.
  CHECK(slice_count(rows, 128, 4, 1) == 32);
  CHECK(slice_count(rows, 128, 4, 2) == 16);
  CHECK(slice_count(rows, 128, 2, 1) == 16);
  CHECK(slice_count(rows, 127, 4, 2) == 1);  // a prime
  CHECK(slice_count(rows, 4, 4, 1) == 2);
  CHECK(slice_count(rows, 1, 4, 1) == 1);
  CHECK(is_sliced(rows, 2));
  CHECK_FALSE(is_sliced(rows, 3));
}

TEST_CASE("neighbouring slices take turns, and nothing moves across what is whole", "[onednn]") {
  std::vector<Operation> list = {operation("a", 0), operation("a", 1),  operation("b", 0),
                                 operation("b", 1), operation("w", -1), operation("c", 0),
                                 operation("c", 1), operation("d", 0),  operation("d", 1)};
  interleave_slices(list);
  CHECK(names(list) == "a0 b0 a1 b1 w-1 c0 d0 c1 d1 ");
}

TEST_CASE("only tensors whose images lie one after the other are cut", "[onednn]") {
  const memory::dims dims = {8, 32, 6, 6};
  for (const auto tag : {memory::format_tag::nchw, memory::format_tag::nhwc, memory::format_tag::nChw16c}) {
    const memory::desc desc(dims, memory::data_type::f32, tag);
    CHECK(can_slice(desc, 4));
    CHECK(slice_of(desc, 4) == memory::desc({2, 32, 6, 6}, memory::data_type::f32, tag));
    CHECK_FALSE(can_slice(desc, 3));
  }
  CHECK_FALSE(can_slice(memory::desc(dims, memory::data_type::f32, memory::format_tag::chwn), 4));
}

}  // namespace nocturne::onednn
