#include "kernels/data/gathered_batches.hpp"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/data/stepped_source.hpp"

namespace nocturne::data {
namespace {

class GatheredBatches final : public SteppedSource {
 public:
  GatheredBatches(std::unique_ptr<ImageSource> images, SourceOptions options)
      : SteppedSource(std::move(images), std::move(options)), schedule_(epoch(), this->options()) {
    batch_.resize(static_cast<std::size_t>(epoch().batch));
    if (!this->images().stored()) room_.resize(batch_.size() * static_cast<std::size_t>(image_bytes()));
  }

 protected:
  std::span<const ImageSource::Image> acquire() override {
    if (!error_) make_next();
    if (error_) std::rethrow_exception(error_);  // again, should somebody ask again
    return std::span(batch_).first(size_);
  }

 private:
  void make_next() {
    const Schedule::Batch next = schedule_.next();
    size_ = next.images.size();
    first_failed_ = size_;
    for_each_part(std::ssize(next.images), [&](std::int64_t first, std::int64_t last) {
      Workspace workspace;
      for (auto n = static_cast<std::size_t>(first); n < static_cast<std::size_t>(last); ++n) make(next, n, workspace);
    });
  }

  // A pool's threads must not throw: the error of the batch's first bad image is kept, whoever meets it.
  void make(const Schedule::Batch& next, std::size_t n, Workspace& workspace) {
    try {
      std::uint8_t* into = room_.empty() ? nullptr : room_.data() + n * static_cast<std::size_t>(image_bytes());
      batch_[n] = images().make(next.images[n], next.epoch, into, workspace);
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (n < first_failed_) first_failed_ = n, error_ = std::current_exception();
    }
  }

  Schedule schedule_;
  std::vector<ImageSource::Image> batch_;
  std::vector<std::uint8_t> room_;  ///< empty: the images lie in memory
  std::size_t size_ = 0, first_failed_ = 0;
  std::mutex failing_;
  std::exception_ptr error_;
};

}  // namespace

std::unique_ptr<BatchSource> gather_batches(std::unique_ptr<ImageSource> images, SourceOptions options) {
  return std::make_unique<GatheredBatches>(std::move(images), std::move(options));
}

}  // namespace nocturne::data
