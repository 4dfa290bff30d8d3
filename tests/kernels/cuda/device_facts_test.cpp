#include "kernels/cuda/device/device_facts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {
namespace {

using Catch::Matchers::ContainsSubstring;

DeviceFacts gpu(int major, int minor) {
  DeviceFacts facts;
  facts.count = 1;
  facts.name = "Some GPU";
  facts.major = major;
  facts.minor = minor;
  facts.memory_bytes = std::int64_t{8} << 30;
  return facts;
}

}  // namespace

TEST_CASE("a machine without a GPU is told so, with the driver's own words", "[cuda]") {
  CHECK_THAT(obstacle(DeviceFacts{}, Precision::F32).value(), ContainsSubstring("shows this process none"));
  DeviceFacts silent;
  silent.error = "no NVIDIA driver answers";
  CHECK(obstacle(silent, Precision::F32) == "no GPU can be used: no NVIDIA driver answers");
}

TEST_CASE("a GPU that is too old is refused by what is asked of it", "[cuda]") {
  CHECK_THAT(obstacle(gpu(7, 0), Precision::F32).value(), ContainsSubstring("7.0, this worker needs 7.5"));
  CHECK_FALSE(obstacle(gpu(7, 5), Precision::F32));
  CHECK_FALSE(obstacle(gpu(7, 5), Precision::F16));
  CHECK_THAT(obstacle(gpu(7, 5), Precision::Bf16).value(), ContainsSubstring("bf16 needs 8.0"));
  CHECK_THAT(obstacle(gpu(7, 5), Precision::Tf32).value(), ContainsSubstring("tf32 needs 8.0"));
  CHECK_FALSE(obstacle(gpu(8, 0), Precision::Tf32));
  CHECK_FALSE(obstacle(gpu(12, 0), Precision::Bf16));
}

TEST_CASE("a training larger than the GPU's memory is refused with both sizes", "[cuda]") {
  CHECK_FALSE(too_large(gpu(9, 0), std::int64_t{8} << 30));
  CHECK(too_large(gpu(9, 0), (std::int64_t{8} << 30) + 1) ==
        "the training needs 8.0 GiB on the GPU, Some GPU has 8.0 GiB");
  CHECK(size_text(5 << 20) == "5 MiB");
  CHECK(version_text(13000) == "13.0");
  CHECK(version_text(12080) == "12.8");
}

TEST_CASE("a step is captured after one was run, and an epoch's smaller batch never", "[cuda]") {
  Settings settings;
  CHECK_FALSE(capture_now(settings, false, 5));
  settings.cuda_graphs = true;
  CHECK_FALSE(capture_now(settings, false, 0));
  CHECK(capture_now(settings, false, 1));
  CHECK_FALSE(capture_now(settings, true, 5));
}

}  // namespace nocturne::cuda
