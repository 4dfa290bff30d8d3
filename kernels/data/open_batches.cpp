#include <string_view>
#include <utility>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/gathered_batches.hpp"
#include "kernels/data/image_folder.hpp"
#include "kernels/data/prefetched_batches.hpp"
#include "kernels/data/stored_images.hpp"

namespace nocturne::data {
namespace {

struct DataSet {
  std::string_view name;
  std::unique_ptr<ImageSource> (*open)(const SourceOptions& options);
};

// The one list of all data sets.
constexpr DataSet kDataSets[] = {
    {"mnist", read_mnist},
    {"synthetic", make_synthetic},
    {"folder", open_image_folder},
};

void check(const SourceOptions& options) {
  const auto refuse = [](const char* key, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    throw UnsupportedData(std::string("configuration: ") + key + " = " + std::to_string(value) +
                          ", allowed: a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  };
  refuse("batch", options.batch, 1, std::int64_t{1} << 20);
  refuse("data_threads", options.threads, 0, kMostDataThreads);
  refuse("prefetch", options.prefetch, 1, kMostPrefetch);
  if (options.image.elements() < 1 || options.classes < 1) {
    throw std::logic_error("open_batches: the network's image and classes are not given");
  }
}

}  // namespace

std::string known_data() {
  std::string names;
  for (const DataSet& each : kDataSets) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

std::unique_ptr<BatchSource> open_batches(SourceOptions options) {
  check(options);
  for (const DataSet& each : kDataSets) {
    if (each.name != options.data) continue;
    if (options.split == Split::Test && options.data == "synthetic") {
      throw UnsupportedData("the data set synthetic has no test images: accuracy cannot be told");
    }
    std::unique_ptr<ImageSource> images = each.open(options);
    return options.threads > 0 ? prefetch_batches(std::move(images), std::move(options))
                               : gather_batches(std::move(images), std::move(options));
  }
  throw UnsupportedData("unknown data set '" + options.data + "', known: " + known_data());
}

}  // namespace nocturne::data
