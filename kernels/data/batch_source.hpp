#pragma once

/// Where a native worker's images come from: one interface for MNIST's files, synthetic images and a folder of JPEGs.
///
/// C++20, the standard library, zlib (MNIST) and libjpeg-turbo (folders). A worker built where a library's header is
/// missing answers UnsupportedData for the data set that needs it, and trains the others.
///
///     auto source = data::open_batches({.data = "synthetic", .image = network.image, .classes = network.classes,
///                                       .seed = request.seed, .batch = 16});
///     std::vector<float> images(source->next_size() * source->image().elements());
///     std::vector<std::int32_t> labels(source->next_size());
///     source->next(images, labels);

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"

namespace nocturne::data {

/// The files are missing, torn, or do not fit the network; what() names the file. A worker's run has `failed` then.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No such data set, or this program was built without what reads it. A worker answers `unsupported`.
class UnsupportedData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Split { Train, Test };

/// From a stored byte to what the network reads.
struct Scaling {
  float factor = 1.0F / 255.0F, offset = 0;
};

/// Calls its argument with parts [begin, end) of [0, count), perhaps side by side; returns when all are done.
using ForEachPart = std::function<void(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>&)>;

/// Beyond them it is a slip of the pen.
inline constexpr int kMostDataThreads = 1024, kMostPrefetch = 1024;

struct SourceOptions {
  /// mnist: IDX files in `folder`. synthetic: 256 random images, the same ones in every worker and every run, Python's
  /// too. folder: JPEGs, one sub-folder a class (image_folder.hpp).
  std::string data = "mnist";
  std::string folder;        ///< mnist, folder
  networks::Shape image;     ///< shape of one image, as the network reads it
  std::int64_t classes = 0;  ///< classes that the network distinguishes
  Split split = Split::Train;
  std::uint64_t seed = 1;               ///< order of each epoch; crops and flips of a folder's images
  std::int64_t batch = 128;             ///< images a step
  bool partial_batch = false;           ///< an epoch's last images, if fewer than a batch, are a batch; else left out
  bool shuffle = true;                  ///< false: in the order of the set, images as they are (for a test set)
  std::vector<std::int32_t> visits;     ///< the images of each epoch in order (the gate); empty: all of them
  int threads = 0;                      ///< parameter data_threads: that read ahead; 0: the one that calls next()
  int prefetch = 2;                     ///< parameter prefetch: batches made ahead, at least 1; for threads > 0
  bool skip_broken = false;             ///< folder: a file that cannot be decoded is counted and replaced, not an error
  bool channels_last = false;           ///< (N, H, W, C) instead of (N, C, H, W)
  ForEachPart for_each_part = nullptr;  ///< threads == 0: the worker's own pool gathers a batch; null: the caller alone
};

/// A sequence of batches: epoch after epoch, without end.
///
/// Which images a batch has is decided by the seed (or by `visits`) and by nothing else: not by threads, prefetch or
/// between-process spread. To be used by one thread at a time. The destructor ends the threads, wherever they are.
class BatchSource {
 public:
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;
  virtual ~BatchSource() = default;

  /// Images in the data set. A batch is never larger.
  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// Images that an epoch visits, those left out at its end included: count(), or as many as `visits` names.
  [[nodiscard]] virtual std::int64_t examples() const = 0;
  [[nodiscard]] virtual const networks::Shape& image() const = 0;
  /// Batches of an epoch.
  [[nodiscard]] virtual std::int64_t steps_per_epoch() const = 0;
  /// Images of the next batch: the batch size, or fewer for an epoch's last.
  [[nodiscard]] virtual std::int64_t next_size() const = 0;
  /// True where the next batch is the last of its epoch.
  [[nodiscard]] virtual bool next_ends_epoch() const = 0;

  /// Writes the next batch: images scaled as the data set's are (mnist and synthetic to [0, 1], a folder's by mean and
  /// deviation of each channel), labels from 0 to classes - 1.
  /// REQUIRES: labels.size() == next_size(), images.size() == next_size() * image().elements(). Throws DataError, and
  /// for the same image each time it is called again.
  virtual void next(std::span<float> images, std::span<std::int32_t> labels) = 0;
  /// The same batch before it is scaled, for who scales it himself: to another type, or on a device. What next() writes
  /// is byte * scaling()[channel].factor + scaling()[channel].offset.
  virtual void next_bytes(std::span<std::uint8_t> images, std::span<std::int32_t> labels) = 0;
  /// One entry a channel.
  [[nodiscard]] virtual std::span<const Scaling> scaling() const = 0;

  /// Time inside next() and next_bytes() until now: the whole of it where nothing reads ahead, else waiting and
  /// copying.
  [[nodiscard]] virtual std::int64_t waited_ns() const = 0;
  /// Files that could not be decoded and were replaced, so far (skip_broken); those read ahead are counted too.
  [[nodiscard]] virtual std::int64_t skipped() const = 0;
};

/// Opens the data set: MNIST is read whole and checked against its checksums, synthetic images are made, a folder is
/// listed (no image is decoded yet). Throws UnsupportedData and DataError. A batch larger than the set is
/// UnsupportedData; synthetic images repeat, so there any batch will do.
[[nodiscard]] std::unique_ptr<BatchSource> open_batches(SourceOptions options);

/// The names that `data` may have, as a list for sentences: "mnist, synthetic, folder".
[[nodiscard]] std::string known_data();

}  // namespace nocturne::data
