#include "kernels/onednn/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>

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

// A layer's operations together, or what is of no layer.
struct LayerLine {
  std::string name, implementations;
  std::int64_t row = -1;
  double forward_ms = 0, backward_ms = 0, total_ms = 0, gflop = 0;  // means
};

bool names(std::string_view list, std::string_view name) {
  for (std::size_t at = list.find(name); at != std::string_view::npos; at = list.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ',')) return true;
  }
  return false;
}

void add_to(LayerLine& sum, const OperationTime& operation) {
  const double ms = static_cast<double>(operation.total_ns) * 1e-6 / static_cast<double>(operation.calls);
  if (operation.part == Part::Forward) sum.forward_ms += ms;
  if (operation.part == Part::Backward) sum.backward_ms += ms;
  sum.total_ms += ms;
  sum.gflop += static_cast<double>(operation.flops) * 1e-9;
  const std::string& name = operation.implementation;
  if (operation.part == Part::Rest || name.empty() || names(sum.implementations, name)) return;
  sum.implementations += (sum.implementations.empty() ? "" : ", ") + name;
}

// In the network's order; what is of no layer at the end.
std::vector<LayerLine> layers_of(const Profile& profile) {
  std::vector<LayerLine> layers;
  for (const OperationTime& operation : profile.operations()) {
    auto found = std::ranges::find(layers, operation.layer, &LayerLine::name);
    if (found == layers.end()) {
      LayerLine line;
      line.name = operation.layer;
      line.row = operation.row;
      found = layers.insert(layers.end(), std::move(line));
    }
    add_to(*found, operation);
  }
  std::ranges::stable_sort(layers, [](const LayerLine& a, const LayerLine& b) {
    return static_cast<std::uint64_t>(a.row) < static_cast<std::uint64_t>(b.row);  // -1 is the largest
  });
  return layers;
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
    rate(line.gflop, line.min_ms);
    out_ << "  " << line.implementation << '\n';
  }

  void layer_head() {
    print("%-34s %9s %9s %9s %7s %9s", "layer, means in ms", "forward", "backward", "in all", "step, %", "GFLOP/s");
    out_ << (peak_ > 0 ? "  peak, %" : "") << "  implementations\n";
  }

  void layer(const LayerLine& line) {
    print("%-34s %9.3f %9.3f %9.3f %7.2f", line.name.c_str(), line.forward_ms, line.backward_ms, line.total_ms,
          100 * line.total_ms / step_ms_);
    rate(line.gflop, line.total_ms);
    out_ << "  " << line.implementations << '\n';
  }

 private:
  void rate(double gflop, double ms) {
    if (gflop > 0 && ms > 0) {
      const double gflops = gflop / ms * 1e3;
      print(" %9.1f", gflops);
      if (peak_ > 0) print(" %8.1f", 100 * gflops / peak_);
    } else {
      print(" %9s", "");
      if (peak_ > 0) print(" %8s", "");
    }
  }

  template <typename... Values>
  void print(const char* format, Values... values) {
    std::array<char, 160> text;
    std::snprintf(text.data(), text.size(), format, values...);
    out_ << text.data();
  }

  std::ostream& out_;
  double step_ms_, peak_;
};

// Says by how much the rows fall short of the steps: what lies between the operations.
void print_layers(const Profile& profile, double peak_gflops, std::ostream& out) {
  const std::vector<LayerLine> layers = layers_of(profile);
  LayerLine sum;
  sum.name = "sum";
  for (const LayerLine& line : layers) {
    sum.forward_ms += line.forward_ms;
    sum.backward_ms += line.backward_ms;
    sum.total_ms += line.total_ms;
    sum.gflop += line.gflop;
  }
  const double step_ms = profile.steps() > 0
                             ? static_cast<double>(profile.steps_ns()) * 1e-6 / static_cast<double>(profile.steps())
                             : sum.total_ms;
  Table table(out, step_ms, peak_gflops);
  table.layer_head();
  for (const LayerLine& line : layers) table.layer(line);
  table.layer(sum);
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), "A step took %.3f ms in the mean of %lld; these are %.1f %% of it.\n",
                step_ms, static_cast<long long>(profile.steps()), 100 * sum.total_ms / step_ms);
  if (profile.steps() > 0) out << text.data();
}

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
  own.name = own.layer = own.group = name;
  add(own, ns);
}

void Profile::add_step(std::int64_t ns) {
  ++steps_;
  steps_ns_ += ns;
}

void print_profile(const Profile& profile, double peak_gflops, std::ostream& out) {
  if (profile.operations().empty()) {  // the gate's steps, or a training that ended in its first
    out << "No step was profiled.\n";
    return;
  }
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
  print_layers(profile, peak_gflops, out);
  out << '\n';
  table.head("together");
  for (const Line& group : groups) table.row(group);
  table.row(step);
}

}  // namespace nocturne::onednn
