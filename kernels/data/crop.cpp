#include "kernels/data/crop.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/data/counter_random.hpp"

namespace nocturne::data {
namespace {

constexpr double kSmallestArea = 0.08, kNarrowest = 3.0 / 4.0, kWidest = 4.0 / 3.0;
constexpr std::uint64_t kTries = 10, kDrawsEach = 4;

std::int64_t whole(double length, std::int64_t most) {
  return std::clamp(static_cast<std::int64_t>(std::lround(length)), std::int64_t{1}, most);
}

Crop centred(std::int64_t width, std::int64_t height, double crop_width, double crop_height) {
  const std::int64_t w = whole(crop_width, width), h = whole(crop_height, height);
  return {.left = (width - w) / 2, .top = (height - h) / 2, .width = w, .height = h};
}

}  // namespace

Crop random_crop(std::int64_t width, std::int64_t height, std::uint64_t seed, std::int64_t epoch, std::int64_t image) {
  const std::uint64_t of_epoch = key_of(seed, 0xc409, static_cast<std::uint64_t>(epoch));
  const std::uint64_t key = key_of(of_epoch, 0xc40a, static_cast<std::uint64_t>(image));
  const auto number = [key](std::uint64_t counter) { return static_cast<double>(uniform(key, counter)); };
  const double area = static_cast<double>(width) * static_cast<double>(height);
  const bool flipped = number(kTries * kDrawsEach) < 0.5;
  for (std::uint64_t first = 0; first < kTries * kDrawsEach; first += kDrawsEach) {
    const double part = area * (kSmallestArea + (1 - kSmallestArea) * number(first));
    const double ratio =
        std::exp(std::log(kNarrowest) + number(first + 1) * (std::log(kWidest) - std::log(kNarrowest)));
    const auto w = static_cast<std::int64_t>(std::lround(std::sqrt(part * ratio)));
    const auto h = static_cast<std::int64_t>(std::lround(std::sqrt(part / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {.left = static_cast<std::int64_t>(number(first + 2) * static_cast<double>(width - w + 1)),
            .top = static_cast<std::int64_t>(number(first + 3) * static_cast<double>(height - h + 1)),
            .width = w,
            .height = h,
            .flipped = flipped};
  }
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  Crop crop = centred(width, height, std::min(w, h * kWidest), std::min(h, w / kNarrowest));
  crop.flipped = flipped;
  return crop;
}

Crop middle_crop(std::int64_t width, std::int64_t height, std::int64_t shape_width, std::int64_t shape_height) {
  constexpr double kShare = 7.0 / 8.0;  // 224 of 256
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  const double ratio = static_cast<double>(shape_width) / static_cast<double>(shape_height);
  return centred(width, height, kShare * std::min(w, h * ratio), kShare * std::min(h, w / ratio));
}

}  // namespace nocturne::data
