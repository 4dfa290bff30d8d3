#pragma once

/// Who reads whom in a network's table, and what follows for buffers and gates.

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/networks/network.hpp"

namespace nocturne::onednn {

class Graph {
 public:
  /// Throws std::logic_error as networks::figures does, and where a row but the last is read by none.
  explicit Graph(const networks::Network& network);

  [[nodiscard]] const std::vector<networks::LayerFigures>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::size_t>& readers(std::size_t row) const { return readers_[row]; }
  /// Every row reads the one above.
  [[nodiscard]] bool is_chain() const { return chain_; }

  /// Whether a gate stands between the activation gradients of the row's output and its backward operations: that of
  /// the row's ReLU. Normalisation has its own; and where nothing but max-pools lie between the row and a dropout, that
  /// applies it, because the maximum of rectified values is the rectified maximum and there are fewer of them.
  [[nodiscard]] bool gates(std::size_t row) const { return gates_[row]; }
  /// Whether the row, a dropout, applies the gate of a row above.
  [[nodiscard]] bool gates_for_above(std::size_t row) const { return gates_for_above_[row]; }

  /// Whether nobody but forward operations of the only reader needs the values of row `source`; false for the image,
  /// -1.
  [[nodiscard]] bool is_free(std::int64_t source) const;
  /// Whether the activation gradient that comes back to the row's output is read by another layer too.
  [[nodiscard]] bool gradient_is_shared(std::size_t row) const;

 private:
  [[nodiscard]] std::optional<std::size_t> only_reader(std::size_t row) const;

  std::vector<networks::LayerFigures> rows_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> gates_, gates_for_above_;
  bool chain_ = true;
};

}  // namespace nocturne::onednn
