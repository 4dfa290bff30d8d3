#include "kernels/onednn/slices.hpp"

#include <algorithm>

namespace nocturne::onednn {
namespace {

constexpr std::int64_t kCacheBytes = 1 << 20;  // second-level cache of a core: 1 MiB on Zen 4, 2 on Sapphire Rapids

// Rows [0, last max-pool].
std::size_t sliced_rows(const std::vector<networks::LayerFigures>& rows) {
  std::size_t end = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const networks::Kind kind = rows[row].layer->kind;
    if (kind == networks::Kind::MaxPool) end = row + 1;
    if (kind != networks::Kind::MaxPool && kind != networks::Kind::Convolution) break;
  }
  return end;
}

}  // namespace

bool is_sliced(const std::vector<networks::LayerFigures>& rows, std::size_t row) {
  return row < sliced_rows(rows);
}

std::int64_t slice_count(const std::vector<networks::LayerFigures>& rows, std::int64_t batch,
                         std::int64_t bytes_per_value, int threads) {
  std::int64_t values = 0;
  for (std::size_t row = 0; row < sliced_rows(rows); ++row)
    values = std::max(values, rows[row].input.elements() + rows[row].output.elements());
  if (values == 0) return 1;
  for (std::int64_t images = threads * kCacheBytes / (values * bytes_per_value); images >= threads; --images)
    if (images < batch && batch % images == 0) return batch / images;
  return 1;
}

dnnl::memory::desc slice_of(const dnnl::memory::desc& desc, std::int64_t count) {
  dnnl::memory::dims dims = desc.get_dims();
  dims[0] /= count;
  return desc.submemory_desc(dims, dnnl::memory::dims(dims.size(), 0), true);
}

bool can_slice(const dnnl::memory::desc& desc, std::int64_t count) {
  if (desc.get_dims()[0] % count != 0) return false;
  const dnnl::memory::desc slice = slice_of(desc, count);
  return slice && slice.get_size() * static_cast<std::size_t>(count) == desc.get_size();
}

dnnl::memory slice_of(const dnnl::memory& memory, std::int64_t count, std::int64_t index) {
  const dnnl::memory::desc slice = slice_of(memory.get_desc(), count);
  return {slice, memory.get_engine(),
          static_cast<char*>(memory.get_data_handle()) + slice.get_size() * static_cast<std::size_t>(index)};
}

void interleave_slices(std::vector<Operation>& list) {
  for (auto begin = list.begin(); begin != list.end();) {
    if (begin->slice < 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, list.end(), [](const Operation& each) { return each.slice < 0; });
    std::stable_sort(begin, end, [](const Operation& a, const Operation& b) { return a.slice < b.slice; });
    begin = end;
  }
}

}  // namespace nocturne::onednn
