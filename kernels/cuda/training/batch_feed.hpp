#pragma once

/// Batches on their way to the device: gathered into pinned memory as bytes, copied, handed to a step, which scales
/// them.
///
/// With one slot everything happens on the computing stream, one after the other. With two, the next batch is gathered
/// and copied on a stream of its own while the device computes; a slot is used again when its step has read it.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device_code/launchers.hpp"
#include "kernels/data/batch_source.hpp"

namespace nocturne::cuda {

/// A batch on the device, valid for work put on the computing stream until done() is called for it.
struct FedBatch {
  std::size_t slot = 0;
  RawImages images;
  const std::int32_t* labels = nullptr;
  std::int64_t size = 0;
  bool ends_epoch = false;
  std::int64_t wait_ns = 0;  ///< how long the host was busy with it
};

class BatchFeed {
 public:
  /// `source` and `computing` outlive the feed. `slots`: 1 or 2.
  BatchFeed(data::BatchSource& source, std::int64_t batch, std::size_t slots, const Stream& computing);

  /// The next batch; work put on the computing stream from now on sees it.
  [[nodiscard]] FedBatch next();
  /// The work that reads it is on the computing stream. With two slots the batch after it is fetched now.
  void done(const FedBatch& batch);
  /// Images of the batch that next() will give.
  [[nodiscard]] std::int64_t next_size() const;

  /// Where a slot lies, for a capture before its first batch.
  [[nodiscard]] FedBatch place_of(std::size_t slot, std::int64_t size) const;
  [[nodiscard]] std::int64_t device_bytes() const;

 private:
  struct Slot {
    PinnedMemory host_images, host_labels;
    DeviceMemory images, labels;
    Event copied, read;
    FedBatch batch;
    bool filled = false;  ///< gathered, not yet handed out
  };
  void fetch(Slot& slot);

  data::BatchSource& source_;
  const Stream& computing_;
  Stream copying_;
  DeviceMemory scaling_;  ///< one PixelScaling a channel
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t turn_ = 0;  ///< the slot that next() gives
};

}  // namespace nocturne::cuda
