#include "tuner/executor/order.hpp"

#include <stdexcept>

namespace nocturne::tuner {

// Never called where there are no nodes: pair_nodes() names none.

void OrderExecutor::submit_pair(const std::string& node, PairOrder /*order*/) {
  throw std::logic_error("a pair was given to the node " + node + " of an executor without nodes");
}

PairOnNode OrderExecutor::next_pair() {
  throw std::logic_error("a pair was waited for that no executor has");
}

}  // namespace nocturne::tuner
