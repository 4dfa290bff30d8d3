#pragma once

/// How accurate a command says that it is, while it trains: the points of a learning curve.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/command/line_rule.hpp"
#include "measure/protocol/event_writer.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::command {

/// Each matching line behind a step is a point; a second one behind the same step is none. Not thread-safe.
class LearningCurve {
 public:
  /// Training steps by now. Asked at matching lines alone.
  using Steps = std::function<std::int64_t()>;

  /// `events` outlives this. `request` has a curve; its steps are the most that it may take.
  LearningCurve(const std::string& pattern, const protocol::Request& request, Steps steps,
                protocol::EventWriter& events)
      : rule_(pattern), until_(request.curve->until), most_(request.steps), steps_(std::move(steps)), events_(events) {}

  void line(std::string_view text);

  [[nodiscard]] bool seen() const { return last_ > 0; }
  /// It is as accurate as wanted, or has trained as long as it may.
  [[nodiscard]] bool over() const { return over_; }

 private:
  AccuracyRule rule_;
  std::optional<double> until_;
  std::int64_t most_;
  Steps steps_;
  protocol::EventWriter& events_;
  std::int64_t last_ = 0;  ///< steps before the last point
  bool over_ = false;
};

}  // namespace nocturne::command
