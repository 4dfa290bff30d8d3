#pragma once

/// Says again and again how long something takes that says nothing itself: a build, an installation.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace nocturne::cli {

/// Calls a function in a thread of its own, each `interval`, from start() to stop(). start() and stop() are for one
/// thread.
class Ticker {
 public:
  using Say = std::function<void(std::chrono::nanoseconds since_start)>;

  Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  /// Stops what went on before.
  void start(std::chrono::nanoseconds interval, Say say);
  /// When it returns, the function is not called any more.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace nocturne::cli
