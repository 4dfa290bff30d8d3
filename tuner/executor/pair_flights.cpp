#include "tuner/executor/pair_flights.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "db/error.hpp"

namespace nocturne::tuner {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

PairFlights::PairFlights(OrderExecutor& executor, std::vector<std::string> known, std::vector<std::string> avoided)
    : executor_(executor), nodes_(std::move(known)), avoided_(std::move(avoided)) {}

const std::vector<std::string>& PairFlights::nodes() {
  const auto there = executor_.pair_nodes();
  std::erase_if(nodes_, [&](const std::string& name) { return !is_among(there, name); });
  for (const bool avoided : {false, true}) {
    for (const std::string& name : there)
      if (is_among(avoided_, name) == avoided && !is_among(nodes_, name)) nodes_.push_back(name);
  }
  nodes_.resize(std::min(nodes_.size(), kMostPairNodes));
  return nodes_;
}

bool PairFlights::is_full() {
  return !nodes().empty() &&
         std::ranges::all_of(nodes_, [this](const std::string& name) { return flights_.contains(name); });
}

std::optional<std::string> PairFlights::node_for(const PairSeries& series, std::int64_t wanted) {
  const auto count = std::ssize(nodes());
  const auto measured = series.nodes();
  std::optional<std::string> chosen;
  std::int64_t fewest = 0;
  for (const std::string& name : nodes_) {
    if (flights_.contains(name)) continue;
    const std::int64_t pairs = std::ranges::count(measured, name);
    if (pairs >= (wanted + count - 1) / count || (chosen && pairs >= fewest)) continue;
    chosen = name;
    fewest = pairs;
  }
  return chosen;
}

void PairFlights::begin(const std::string& node, std::size_t key, PairSeries& series) {
  // Who starts first alternates on each node, or a node would favour the side that is first there.
  const auto measured = series.nodes();
  const bool candidate_first = std::ranges::count(measured, node) % 2 == 1;
  executor_.submit_pair(node, series.next_order(candidate_first));
  flights_.insert_or_assign(node, Flight{.key = key, .series = &series});
}

PairFlights::Landed PairFlights::next() {
  PairOnNode pair = executor_.next_pair();
  const auto flight = flights_.extract(pair.node);
  if (flight.empty()) {
    throw db::Error(db::ErrorCode::Inconsistent,
                    fmt::format("an answer came from the node {}, which measures no pair", pair.node));
  }
  return {.key = flight.mapped().key, .series = flight.mapped().series, .pair = std::move(pair)};
}

}  // namespace nocturne::tuner
