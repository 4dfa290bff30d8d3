#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/data/batch_source.hpp"
#include "kernels/data/image_folder.hpp"
#include "kernels/data/image_source.hpp"
#include "kernels/data/stepped_source.hpp"
#include "kernels/data/stored_images.hpp"

namespace nocturne::data {
namespace {

// Batches made by the thread that asks for them, or by its worker's own pool.

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

std::unique_ptr<BatchSource> gather_batches(std::unique_ptr<ImageSource> images, SourceOptions options) {
  return std::make_unique<GatheredBatches>(std::move(images), std::move(options));
}

// Batches made ahead by threads of their own, while the worker trains.
//
// A ring of `prefetch` batches. Threads take the images of the batches to come one by one, in order, so a batch is
// shared by all of them and the first is ready soonest; they wait where all places of the ring are full. Which image
// goes where is the schedule's choice alone, so the batches are those of gather_batches(), whatever the threads.
// Memory: prefetch times the batch, one byte a value.

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
    for (int i = 0; i < this->options().threads; ++i)
      threads_.emplace_back([this](const std::stop_token& stop) { make_ahead(stop); });
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

/// REQUIRES: options.threads >= 1, options.prefetch >= 1. An image that cannot be made is thrown by the call of next()
/// that would have had it; batches before it are delivered.
std::unique_ptr<BatchSource> prefetch_batches(std::unique_ptr<ImageSource> images, SourceOptions options) {
  return std::make_unique<PrefetchedBatches>(std::move(images), std::move(options));
}

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
  if (options.image.elements() < 1 || options.classes < 1)
    throw std::logic_error("open_batches: the network's image and classes are not given");
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
    if (options.split == Split::Test && options.data == "synthetic")
      throw UnsupportedData("the data set synthetic has no test images: accuracy cannot be told");
    std::unique_ptr<ImageSource> images = each.open(options);
    return options.threads > 0 ? prefetch_batches(std::move(images), std::move(options))
                               : gather_batches(std::move(images), std::move(options));
  }
  throw UnsupportedData("unknown data set '" + options.data + "', known: " + known_data());
}

}  // namespace nocturne::data
