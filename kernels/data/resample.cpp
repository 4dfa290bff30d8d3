#include "kernels/data/resample.hpp"

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

constexpr std::int64_t kChannels = 3;

/// What one target pixel is made of: neighbours of the source from `first` on, with weights that add up to 1.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// One entry a target pixel; the source has `source` pixels of which [begin, begin + length) is read.
std::vector<Taps> taps_of(std::int64_t source, double begin, double length, std::int64_t target, bool flipped) {
  const double step = length / static_cast<double>(target), reach = std::max(1.0, step);
  std::vector<Taps> all(static_cast<std::size_t>(target));
  for (std::int64_t i = 0; i < target; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * step;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach)));
    const auto last = std::min(source - 1, static_cast<std::int64_t>(std::ceil(centre + reach)));
    Taps taps{.first = first, .weights = {}};
    float sum = 0;
    for (std::int64_t pixel = first; pixel <= last; ++pixel) {
      const double distance = std::abs(static_cast<double>(pixel) + 0.5 - centre) / reach;
      taps.weights.push_back(static_cast<float>(std::max(0.0, 1.0 - distance)));
      sum += taps.weights.back();
    }
    for (float& weight : taps.weights) weight /= sum;
    all[static_cast<std::size_t>(flipped ? target - 1 - i : i)] = std::move(taps);
  }
  return all;
}

void across(const std::uint8_t* row, const std::vector<Taps>& columns, float* out) {
  for (const Taps& taps : columns) {
    float red = 0, green = 0, blue = 0;
    const std::uint8_t* pixel = row + kChannels * taps.first;
    for (const float weight : taps.weights) {
      red += weight * static_cast<float>(pixel[0]);
      green += weight * static_cast<float>(pixel[1]);
      blue += weight * static_cast<float>(pixel[2]);
      pixel += kChannels;
    }
    *out++ = red, *out++ = green, *out++ = blue;
  }
}

std::uint8_t rounded(float value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
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

void resample(const Picture& from, const Region& region, std::int64_t width, std::int64_t height, bool channels_last,
              std::uint8_t* into, std::vector<float>& rows) {
  const std::vector<Taps> columns = taps_of(from.width, region.left, region.width, width, region.flipped);
  const std::vector<Taps> lines = taps_of(from.height, region.top, region.height, height, false);
  const std::int64_t values = kChannels * width, first = lines.front().first;
  const std::int64_t end = lines.back().first + std::ssize(lines.back().weights);
  rows.resize(static_cast<std::size_t>((end - first + 1) * values));  // the last one is where a line is summed
  for (std::int64_t line = first; line < end; ++line)
    across(from.pixels + line * kChannels * from.width, columns, rows.data() + (line - first) * values);
  float* sum = rows.data() + (end - first) * values;
  for (std::int64_t y = 0; y < height; ++y) {
    const Taps& taps = lines[static_cast<std::size_t>(y)];
    std::fill_n(sum, values, 0.0F);
    const float* row = rows.data() + (taps.first - first) * values;
    for (const float weight : taps.weights) {
      for (std::int64_t i = 0; i < values; ++i) sum[i] += weight * row[i];
      row += values;
    }
    if (channels_last) {
      for (std::int64_t i = 0; i < values; ++i) into[y * values + i] = rounded(sum[i]);
      continue;
    }
    for (std::int64_t channel = 0; channel < kChannels; ++channel) {
      std::uint8_t* line = into + (channel * height + y) * width;
      for (std::int64_t x = 0; x < width; ++x) line[x] = rounded(sum[kChannels * x + channel]);
    }
  }
}

}  // namespace nocturne::data
