#include "tuner/executor/interruption.hpp"

#include <algorithm>

namespace nocturne::tuner {

Interruption::Preparation::Preparation(Interruption& interruption) {
  {
    const std::lock_guard lock(interruption.mutex_);
    stop_ = interruption.preparation_.get_token();
  }
  const auto time = interruption.preparation_time();
  if (!time) return;
  timer_ = std::jthread([&interruption, end = std::chrono::steady_clock::now() + *time](const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, over, end, [] { return false; });
    if (!over.stop_requested()) interruption.cut_preparation();
  });
}

void Interruption::finish() {
  finish_.store(true);
  const std::lock_guard lock(mutex_);
  waits_.request_stop();
  preparation_.request_stop();
  changed_.notify_all();
}

void Interruption::abandon() {
  finish();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  flight_.request_stop();
}

std::stop_token Interruption::token() const {
  const std::lock_guard lock(mutex_);
  return flight_.get_token();
}

std::stop_token Interruption::waiting_token() const {
  const std::lock_guard lock(mutex_);
  return waits_.get_token();
}

Interruption::Flight Interruption::begin() {
  std::unique_lock lock(mutex_);
  ++resting_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !suspended_ || requested(); });
  --resting_;
  ++flights_;
  return Flight(*this);
}

void Interruption::land() noexcept {
  const std::lock_guard lock(mutex_);
  --flights_;
  changed_.notify_all();
}

void Interruption::suspend() {
  const std::lock_guard lock(mutex_);
  suspended_ = true;
  suspensions_.fetch_add(1);
  flight_.request_stop();
  waits_.request_stop();
  preparation_.request_stop();
}

void Interruption::resume() {
  const std::lock_guard lock(mutex_);
  suspended_ = false;
  if (!abandoned_) flight_ = std::stop_source();
  if (!requested()) waits_ = std::stop_source();
  if (!requested() && !out_of_time()) preparation_ = std::stop_source();
  changed_.notify_all();
}

void Interruption::prepare_until(std::optional<std::chrono::steady_clock::time_point> end,
                                 std::chrono::nanoseconds least) {
  const std::lock_guard lock(mutex_);
  prepare_until_ = end;
  least_preparation_ = least;
  if (out_of_time_.exchange(false) && !requested() && !suspended_) preparation_ = std::stop_source();
}

std::optional<std::chrono::nanoseconds> Interruption::preparation_time() const {
  const std::lock_guard lock(mutex_);
  if (!prepare_until_) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(*prepare_until_ - std::chrono::steady_clock::now(), least_preparation_);
}

void Interruption::cut_preparation() {
  const std::lock_guard lock(mutex_);
  out_of_time_.store(true);
  preparation_.request_stop();
}

bool Interruption::again_after_suspension(std::int64_t before) const {
  return suspensions() != before && !requested();
}

bool Interruption::wait_until_at_rest(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return resting_ > 0 && flights_ == 0; });
}

bool Interruption::in_flight() const {
  const std::lock_guard lock(mutex_);
  return flights_ > 0;
}

}  // namespace nocturne::tuner
