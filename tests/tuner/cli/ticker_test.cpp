#include "tuner/cli/measuring/progress_display.hpp"

#include <catch2/catch_test_macros.hpp>
#include <future>

using namespace nocturne;

TEST_CASE("a ticker calls again and again until it is stopped, and not after", "[cli]") {
  cli::Ticker ticker;
  std::promise<void> thrice;
  int calls = 0;
  std::chrono::nanoseconds last{0};
  ticker.start(std::chrono::microseconds(100), [&](std::chrono::nanoseconds since) {
    CHECK(since > last);
    last = since;
    if (++calls == 3) thrice.set_value();
  });
  thrice.get_future().wait();
  ticker.stop();
  const int called = calls;  // no lock: nobody else is there any more
  CHECK(called >= 3);

  bool began_again = false;
  ticker.start(std::chrono::hours(1), [&](std::chrono::nanoseconds) { began_again = true; });
  ticker.stop();  // at once, not after the hour
  CHECK(calls == called);
  CHECK_FALSE(began_again);
}
