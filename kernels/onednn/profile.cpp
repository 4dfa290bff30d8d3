#include "kernels/onednn/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

namespace nocturne::onednn {
namespace {

// What one line of a table says: an operation, or several together.
struct Line {
  std::string name, implementation;
  double min_ms = 0, mean_ms = 0, gflop = 0;
};

Line line_of(const OperationTime& operation) {
  return {.name = operation.name,
          .implementation = operation.implementation,
          .min_ms = static_cast<double>(operation.min_ns) * 1e-6,
          .mean_ms = static_cast<double>(operation.total_ns) * 1e-6 / static_cast<double>(operation.calls),
          .gflop = static_cast<double>(operation.flops) * 1e-9};
}

void add_to(Line& sum, const Line& line) {
  sum.min_ms += line.min_ms;
  sum.mean_ms += line.mean_ms;
  sum.gflop += line.gflop;
}

class Table {
 public:
  Table(std::ostream& out, double step_ms, double peak_gflops) : out_(out), step_ms_(step_ms), peak_(peak_gflops) {}

  void head(const char* title) {
    print("%-44s %9s %9s %7s %9s", title, "min, ms", "mean, ms", "step, %", "GFLOP/s");
    out_ << (peak_ > 0 ? "  peak, %" : "") << "  implementation\n";
  }

  void row(const Line& line) {
    print("%-44s %9.3f %9.3f %7.2f", line.name.c_str(), line.min_ms, line.mean_ms, 100 * line.min_ms / step_ms_);
    if (line.gflop > 0 && line.min_ms > 0) {
      const double rate = line.gflop / line.min_ms * 1e3;
      print(" %9.1f", rate);
      if (peak_ > 0) print(" %8.1f", 100 * rate / peak_);
    } else {
      print(" %9s", "");
      if (peak_ > 0) print(" %8s", "");
    }
    out_ << "  " << line.implementation << '\n';
  }

 private:
  template <typename... Values>
  void print(const char* format, Values... values) {
    std::array<char, 160> text;
    std::snprintf(text.data(), text.size(), format, values...);
    out_ << text.data();
  }

  std::ostream& out_;
  double step_ms_, peak_;
};

}  // namespace

void Profile::add(const OperationTime& operation, std::int64_t ns) {
  auto found = std::ranges::find(operations_, operation.name, &OperationTime::name);
  if (found == operations_.end()) found = operations_.insert(operations_.end(), operation);
  ++found->calls;
  found->total_ns += ns;
  found->min_ns = std::min(found->min_ns, ns);
}

void Profile::add_own(const std::string& name, std::int64_t ns) {
  OperationTime own;
  own.name = own.group = name;
  add(own, ns);
}

void print_profile(const Profile& profile, double peak_gflops, std::ostream& out) {
  Line step{.name = "sum of the minima"};
  std::vector<Line> groups;
  for (const OperationTime& operation : profile.operations()) {
    const Line line = line_of(operation);
    add_to(step, line);
    auto group = std::ranges::find(groups, operation.group, &Line::name);
    if (group == groups.end()) group = groups.insert(groups.end(), Line{.name = operation.group});
    add_to(*group, line);
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &Line::min_ms);
  Table table(out, step.min_ms, peak_gflops);
  table.head("operation");
  for (const OperationTime& operation : profile.operations()) table.row(line_of(operation));
  out << '\n';
  table.head("together");
  for (const Line& group : groups) table.row(group);
  table.row(step);
}

}  // namespace nocturne::onednn
