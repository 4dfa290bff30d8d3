#pragma once

/// When the scales of a model are chosen anew: often while each trial changes them.

#include <algorithm>
#include <cstddef>

namespace nocturne::search::model {

/// Whether a model of so many trials is to be fitted that was fitted to `fitted` (0: never): after each trial to 40,
/// every third to 100, every eighth to 256; then whenever it has learnt a thirty-second more, each 32nd at the latest.
[[nodiscard]] constexpr bool fit_is_due(std::size_t trials, std::size_t fitted) {
  const std::size_t every = trials <= 40 ? 1 : trials <= 100 ? 3 : std::clamp<std::size_t>(trials / 32, 8, 32);
  return trials < fitted || trials - fitted >= every;
}

}  // namespace nocturne::search::model
