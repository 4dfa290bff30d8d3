#pragma once

/// Orders and answers as JSON documents: what is read back is what was written (but bytes that are not UTF-8
/// become U+FFFD). `nocturne schema order` and `nocturne schema answer` describe them.
///
/// An order comes from elsewhere: every key must be there and no other, each value is of its type and in its range. The
/// error names the place and the reason: "/trial/number: must be at least 0".

#include <expected>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "space/run.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

inline constexpr int kOrderVersion = 4;
/// Longer texts are refused unread.
inline constexpr std::size_t kLongestOrderBytes = 16U << 20U;

[[nodiscard]] nlohmann::json to_json(const Order& order);
[[nodiscard]] std::expected<Order, std::string> order_from_json(const nlohmann::json& document);
/// The same from text that may be anything.
[[nodiscard]] std::expected<Order, std::string> order_from_text(std::string_view text);

[[nodiscard]] nlohmann::json to_json(const OrderAnswer& answer);
[[nodiscard]] std::expected<OrderAnswer, std::string> answer_from_json(const nlohmann::json& document);

/// A run with all that it measured; what is not known is null.
[[nodiscard]] nlohmann::json run_to_json(const space::Run& run);

}  // namespace nocturne::tuner
