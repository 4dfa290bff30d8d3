#include "kernels/data/prefetched_batches.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/data/stepped_source.hpp"

namespace nocturne::data {
namespace {

/// One place of the ring. Its fields change under the mutex; the room of an image belongs to the thread that makes it.
struct Place {
  std::vector<std::uint8_t> room;
  std::vector<std::int32_t> visits;  ///< images of the batch; empty: the place is free
  std::vector<ImageSource::Image> images;
  std::int64_t epoch = 0;
  std::size_t given_out = 0, made = 0;  ///< counts of visits
  std::size_t first_failed = 0;
  std::exception_ptr error;
};

class PrefetchedBatches final : public SteppedSource {
 public:
  PrefetchedBatches(std::unique_ptr<ImageSource> images, SourceOptions options)
      : SteppedSource(std::move(images), std::move(options)),
        schedule_(epoch(), this->options()),
        ring_(static_cast<std::size_t>(this->options().prefetch)) {
    const auto batch = static_cast<std::size_t>(epoch().batch);
    for (Place& place : ring_) {
      place.visits.reserve(batch);
      place.images.resize(batch);
      if (!this->images().stored()) place.room.resize(batch * static_cast<std::size_t>(image_bytes()));
    }
    for (int i = 0; i < this->options().threads; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { make_ahead(stop); });
    }
  }
  ~PrefetchedBatches() override {
    for (std::jthread& thread : threads_) thread.request_stop();  // all at once; then each is waited for
  }

 protected:
  std::span<const ImageSource::Image> acquire() override {
    std::unique_lock lock(mutex_);
    Place& place = ring_[reading_];
    ready_.wait(lock, [&] { return !place.visits.empty() && place.made == place.visits.size(); });
    if (place.error) std::rethrow_exception(place.error);  // the place stays: asked again, the same answer
    return std::span(place.images).first(place.made);
  }

  void release() override {
    {
      const std::lock_guard lock(mutex_);
      ring_[reading_].visits.clear();
      reading_ = (reading_ + 1) % ring_.size();
    }
    room_.notify_all();
  }

 private:
  struct Task {
    Place* place;
    std::size_t n;
  };

  // The next image to make. Waits where there is no free place; null: to stop. Allocates nothing: there is nobody who
  // could be told that it failed.
  Task next_task(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    Place* place = &ring_[filling_];
    const auto begun = [&] { return !place->visits.empty() && place->given_out < place->visits.size(); };
    const auto possible = [&] {
      place = &ring_[filling_];
      return begun() || place->visits.empty();
    };
    if (!room_.wait(lock, stop, possible) || stop.stop_requested()) return {nullptr, 0};
    if (!begun()) {
      const Schedule::Batch next = schedule_.next();
      place->visits.assign(next.images.begin(), next.images.end());
      place->epoch = next.epoch;
      place->given_out = place->made = 0;
      place->first_failed = place->visits.size();
    }
    const Task task{place, place->given_out++};
    if (!begun()) filling_ = (filling_ + 1) % ring_.size();
    return task;
  }

  void make_ahead(const std::stop_token& stop) {
    Workspace workspace;
    for (Task task = next_task(stop); task.place != nullptr; task = next_task(stop)) {
      Place& place = *task.place;
      std::exception_ptr error;
      try {
        std::uint8_t* into =
            place.room.empty() ? nullptr : place.room.data() + task.n * static_cast<std::size_t>(image_bytes());
        place.images[task.n] = images().make(place.visits[task.n], place.epoch, into, workspace);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (error && task.n < place.first_failed) place.first_failed = task.n, place.error = error;
      if (++place.made == place.visits.size()) ready_.notify_one();
    }
  }

  Schedule schedule_;
  std::vector<Place> ring_;
  std::size_t filling_ = 0, reading_ = 0;  ///< places of the ring
  std::mutex mutex_;
  std::condition_variable_any room_;   ///< a place is free
  std::condition_variable_any ready_;  ///< a batch is whole
  std::vector<std::jthread> threads_;  ///< last: they end before what they use
};

}  // namespace

std::unique_ptr<BatchSource> prefetch_batches(std::unique_ptr<ImageSource> images, SourceOptions options) {
  return std::make_unique<PrefetchedBatches>(std::move(images), std::move(options));
}

}  // namespace nocturne::data
