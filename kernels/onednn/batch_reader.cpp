#include "kernels/onednn/batch_reader.hpp"

#include <algorithm>
#include <functional>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/parallel.hpp"

namespace nocturne::onednn {
namespace {

// `planes`: images times channels, each of `area` pixels.
template <typename T>
void scale_planes(const std::uint8_t* bytes, T* out, std::int64_t planes, std::int64_t area,
                  std::span<const data::Scaling> scaling) {
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / area);
  parallel_for(planes, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const data::Scaling& of = scaling[static_cast<std::size_t>(plane) % scaling.size()];
      scale_pixels(bytes + plane * area, out + plane * area, of.factor, of.offset, area);
    }
  });
}

}  // namespace

std::int64_t BatchReader::read(data::BatchSource& source, Plan& plan, std::int64_t first,
                               std::span<std::int32_t> labels) {
  const networks::Shape& image = source.image();
  const std::int64_t size = source.next_size(), values = size * image.elements(), at = first * image.elements();
  if (std::ssize(bytes_) < values) bytes_.resize(static_cast<std::size_t>(values));
  source.next_bytes(std::span(bytes_).first(static_cast<std::size_t>(values)),
                    labels.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size)));
  const std::int64_t planes = size * image.channels, area = image.height * image.width;
  if (plan.precision() == Precision::F32) {
    scale_planes(bytes_.data(), plan.input_f32() + at, planes, area, source.scaling());
  } else {
    scale_planes(bytes_.data(), plan.input_bf16() + at, planes, area, source.scaling());
  }
  return size;
}

data::ForEachPart on_our_threads() {
  return [](std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) {
    parallel_for(count, 1, part);
  };
}

}  // namespace nocturne::onednn
