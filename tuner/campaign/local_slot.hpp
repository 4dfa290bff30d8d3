#pragma once

/// Carries orders out in this process, on this machine: one slot.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

class LocalSlot final : public OrderExecutor {
 public:
  /// The session outlives it.
  explicit LocalSlot(const Session& session) : session_(session) {}

  [[nodiscard]] std::size_t slots() const override { return 1; }
  /// Keeps the order; next() carries it out.
  void submit(TrialOrder order) override;
  [[nodiscard]] TrialAnswer next() override;

 private:
  const Session& session_;
  std::optional<TrialOrder> order_;
  std::int64_t suspensions_ = 0;  ///< the session's count when the order was given
};

}  // namespace nocturne::tuner
