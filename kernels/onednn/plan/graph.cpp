#include "kernels/onednn/plan/graph.hpp"

#include <stdexcept>
#include <string>

namespace nocturne::onednn {

using networks::Kind;

Graph::Graph(const networks::Network& network)
    : rows_(networks::figures(network)),
      readers_(rows_.size()),
      gates_(rows_.size(), false),
      gates_for_above_(rows_.size(), false) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::int64_t source : {rows_[row].source, rows_[row].source2})
      if (source >= 0) readers_[static_cast<std::size_t>(source)].push_back(row);
    if (rows_[row].source + 1 != static_cast<std::int64_t>(row) || rows_[row].source2 >= 0) chain_ = false;
  }
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (row + 1 < rows_.size() && readers_[row].empty())
      throw std::logic_error("network table: nobody reads layer " + std::string(rows_[row].layer->name));
    if (!rows_[row].layer->relu || rows_[row].layer->kind == Kind::BatchNormalisation) continue;
    std::optional<std::size_t> below = only_reader(row);
    while (below && rows_[*below].layer->kind == Kind::MaxPool) below = only_reader(*below);
    if (below && rows_[*below].layer->kind == Kind::Dropout)
      gates_for_above_[*below] = true;
    else
      gates_[row] = true;
  }
}

std::optional<std::size_t> Graph::only_reader(std::size_t row) const {
  return readers_[row].size() == 1 ? std::optional(readers_[row].front()) : std::nullopt;
}

bool Graph::is_free(std::int64_t source) const {
  if (source < 0) return false;
  const auto row = static_cast<std::size_t>(source);
  return only_reader(row) && !gates_[row];
}

bool Graph::gradient_is_shared(std::size_t row) const {
  if (gates_[row]) return false;  // the gate writes a buffer of its own
  const std::optional<std::size_t> reader = only_reader(row);
  return reader && rows_[*reader].layer->kind == Kind::Add;
}

}  // namespace nocturne::onednn
