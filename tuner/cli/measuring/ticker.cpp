#include "tuner/cli/measuring/ticker.hpp"

#include <utility>

namespace nocturne::cli {

void Ticker::start(std::chrono::nanoseconds interval, Say say) {
  stop();
  thread_ = std::jthread([this, interval, say = std::move(say)](const std::stop_token& stopped) {
    const auto began = std::chrono::steady_clock::now();
    auto next = began + interval;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_until(lock, stopped, next, [&] { return stopped.stop_requested(); })) {
      if (stopped.stop_requested()) return;
      say(std::chrono::steady_clock::now() - began);
      next += interval;
    }
  });
}

void Ticker::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace nocturne::cli
