#pragma once

/// Where the time of a step goes, by operation: for people who look for time (--profile).

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace nocturne::onednn {

/// One operation over the steps; the minimum is what the machine can do when nobody disturbs.
struct OperationTime {
  std::string name;            ///< "stage1.block1.conv2 backward data"
  std::string group;           ///< "convolution backward data"
  std::string implementation;  ///< oneDNN's name of it; empty for own loops
  std::int64_t flops = 0;      ///< of one step; 0: not counted
  std::int64_t calls = 0, total_ns = 0, min_ns = INT64_MAX;
};

class Profile {
 public:
  /// Adds one step's time to the operation of this name; its other fields are taken the first time.
  void add(const OperationTime& operation, std::int64_t ns);
  /// Adds one step's time to what is no operation of a layer: "(update)".
  void add_own(const std::string& name, std::int64_t ns);
  /// In the order in which they came first.
  [[nodiscard]] const std::vector<OperationTime>& operations() const { return operations_; }

 private:
  std::vector<OperationTime> operations_;
};

/// A table of operations and one of groups: time, share of the step, GFLOP/s, share of the peak, implementation.
/// `peak_gflops` is that of the precision and threads used (nocturne-machine measures it); 0: not known, no such column.
void print_profile(const Profile& profile, double peak_gflops, std::ostream& out);

}  // namespace nocturne::onednn
