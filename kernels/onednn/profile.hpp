#pragma once

/// Where the time of a step goes, by operation: for people who look for time (--profile).

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace nocturne::onednn {

/// Forward and Backward: of the passes. Rest: copies of weights in other layouts, loss, update, batch.
enum class Part { Forward, Backward, Rest };

/// One operation over the steps; the minimum is what the machine can do when nobody disturbs.
struct OperationTime {
  std::string name;       ///< "stage1.block1.conv2 backward data"
  std::string layer;      ///< "stage1.block1.conv2"
  std::int64_t row = -1;  ///< the layer's, in the network's table; -1: of no layer
  Part part = Part::Rest;
  std::string group;           ///< "convolution backward data"
  std::string implementation;  ///< oneDNN's name of it; empty for own loops
  std::int64_t flops = 0;      ///< operations of one step; 0: not counted
  std::int64_t calls = 0, total_ns = 0, min_ns = INT64_MAX;
};

class Profile {
 public:
  /// Adds one step's time to the operation of this name; its other fields are taken the first time.
  void add(const OperationTime& operation, std::int64_t ns);
  /// Adds one step's time to what is no operation of a layer: "(update)".
  void add_own(const std::string& name, std::int64_t ns);
  /// Adds one step as a whole, from before its batch to behind its update: what the operations are parts of.
  void add_step(std::int64_t ns);
  /// In the order in which they came first.
  [[nodiscard]] const std::vector<OperationTime>& operations() const { return operations_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] std::int64_t steps_ns() const { return steps_ns_; }  ///< sum over all steps

 private:
  std::vector<OperationTime> operations_;
  std::int64_t steps_ = 0, steps_ns_ = 0;
};

/// A table of operations, one of layers in the network's order (forward and backward apart, means, which add up), and
/// one of groups: time, share of the step, GFLOP/s, share of the peak, implementation. At last what a step took, and
/// how much of that the operations are. `peak_gflops` is that of the precision and threads used (nocturne-machine
/// measures it); 0: not known, no such column. A sentence where nothing was profiled.
void print_profile(const Profile& profile, double peak_gflops, std::ostream& out);

}  // namespace nocturne::onednn
