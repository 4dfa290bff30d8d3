#include "kernels/cuda/plan/network_plan.hpp"

#include <algorithm>
#include <string>

#include "kernels/cuda/plan/parameter_table.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

using networks::Kind;
using worker::Lifetime;

class Planner {
 public:
  Planner(const networks::Network& network, std::int64_t batch, std::int64_t bytes_per_value)
      : figures_(networks::figures(network)),
        count_(static_cast<std::int64_t>(figures_.size())),
        image_bytes_(network.image.elements() * batch * bytes_per_value),
        bytes_per_output_(batch * bytes_per_value),
        readers_(figures_.size()) {
    plan_.batch = batch;
  }

  NetworkPlan make() {
    for (std::int64_t row = 0; row < count_; ++row) add_row(row);
    for (std::int64_t row = 0; row < count_; ++row) decide_handing(row);
    place();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::int64_t backward(std::int64_t row) const { return 2 * count_ - row; }
  [[nodiscard]] const networks::LayerFigures& at(std::int64_t row) const {
    return figures_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] const std::vector<std::int64_t>& readers(std::int64_t row) const {
    return readers_[static_cast<std::size_t>(row)];
  }

  void add_row(std::int64_t row) {
    const networks::LayerFigures& figures = at(row);
    const std::string name(figures.layer->name);
    RowPlan planned{.figures = figures};
    if (figures.source >= 0) readers_[static_cast<std::size_t>(figures.source)].push_back(row);
    if (figures.layer->kind == Kind::Add) {
      if (figures.source < 0 || figures.source2 < 0 || figures.source == figures.source2)
        throw worker::Unsupported("layer " + name + " adds the image, or a tensor to itself");
      readers_[static_cast<std::size_t>(figures.source2)].push_back(row);
    }
    if (figures.layer->kind == Kind::Dropout && figures.layer->relu)
      throw worker::Unsupported("layer " + name + " has a rectifier behind its dropout");
    if (figures.layer->kind == Kind::BatchNormalisation) {
      if (figures.source < 0) throw worker::Unsupported("layer " + name + " normalises the image");
      planned.statistics = plan_.statistics_count;
      plan_.statistics_count += kStatisticsParts * figures.input.channels;
    }
    plan_.rows.push_back(planned);
  }

  // The backward pass goes from the last reader to the first.
  [[nodiscard]] Handing usual_handing(std::int64_t row, std::int64_t source) const {
    if (source < 0) return Handing::None;
    return readers(source).back() == row ? Handing::Write : Handing::Accumulate;
  }

  // A sum's gradient is that of both summands. `later`, the summand whose backward comes first, can use the sum's own
  // bytes where nobody else reads it. So can `earlier` (the way past a block) where everything that is added to it
  // comes after `later` has read it, and `later` changes nothing in place: not through a ReLU's gate, not as another
  // sum.
  void decide_handing(std::int64_t row) {
    const networks::LayerFigures& figures = at(row);
    RowPlan& planned = plan_.rows[static_cast<std::size_t>(row)];
    planned.handing = usual_handing(row, figures.source);
    if (figures.layer->kind != Kind::Add) return;
    planned.handing2 = usual_handing(row, figures.source2);
    const bool second_is_later = figures.source2 > figures.source;
    const std::int64_t later = std::max(figures.source, figures.source2);
    const std::int64_t earlier = std::min(figures.source, figures.source2);
    Handing& to_later = second_is_later ? planned.handing2 : planned.handing;
    Handing& to_earlier = second_is_later ? planned.handing : planned.handing2;
    if (readers(later).size() != 1) return;
    to_later = Handing::Share;
    const bool reads_only = !at(later).layer->relu && at(later).layer->kind != Kind::Add;
    const auto& others = readers(earlier);
    const bool added_to_afterwards = others.back() == row && (others.size() == 1 || others[others.size() - 2] < later);
    if (reads_only && added_to_afterwards) to_earlier = Handing::Share;
  }

  // What the backward pass of a row reads again.
  static bool needs_input(Kind kind) { return kind != Kind::Add && kind != Kind::Dropout; }
  static bool needs_output(const networks::Layer& layer) {
    return layer.relu || layer.kind == Kind::MaxPool || layer.kind == Kind::AveragePool;
  }

  [[nodiscard]] std::int64_t last_use_of_output(std::int64_t row) const {
    std::int64_t last = readers(row).empty() ? count_ : row;
    if (needs_output(*at(row).layer)) last = backward(row);
    for (const std::int64_t reader : readers(row))
      last = std::max(last, needs_input(at(reader).layer->kind) ? backward(reader) : reader);
    return last;
  }

  // The row above whose activation gradient lies in the same bytes, or -1.
  [[nodiscard]] std::int64_t shared_with(std::int64_t row) const {
    for (const std::int64_t reader : readers(row)) {
      const RowPlan& planned = plan_.rows[static_cast<std::size_t>(reader)];
      const Handing handing = planned.figures.source == row ? planned.handing : planned.handing2;
      if (handing == Handing::Share) return reader;
    }
    return -1;
  }

  void place() {
    std::vector<Lifetime> buffers = {{image_bytes_, -1, backward(0)}};
    for (std::int64_t row = 0; row < count_; ++row)
      buffers.push_back({at(row).output.elements() * bytes_per_output_, row, last_use_of_output(row)});
    // From the last row down, so that a sum's buffer is known before its summands ask for it.
    std::vector<std::size_t> activation_gradient(figures_.size());
    for (std::int64_t row = count_ - 1; row >= 0; --row) {
      std::size_t& own = activation_gradient[static_cast<std::size_t>(row)];
      if (const std::int64_t above = shared_with(row); above >= 0) {
        own = activation_gradient[static_cast<std::size_t>(above)];
        buffers[own].last = std::max(buffers[own].last, backward(row));
        continue;
      }
      own = buffers.size();
      const std::int64_t written = readers(row).empty() ? count_ : backward(readers(row).back());
      buffers.push_back({at(row).output.elements() * bytes_per_output_, written, backward(row)});
    }
    const worker::MemoryPlan memory = worker::plan_memory(buffers, aligned);
    plan_.bytes = memory.bytes;
    plan_.image = memory.offsets[0];
    for (std::size_t row = 0; row < figures_.size(); ++row) {
      plan_.rows[row].output = memory.offsets[row + 1];
      plan_.rows[row].activation_gradient = memory.offsets[activation_gradient[row]];
    }
    plan_.lifetimes = std::move(buffers);
  }

  std::vector<networks::LayerFigures> figures_;
  std::int64_t count_;
  std::int64_t image_bytes_, bytes_per_output_;
  std::vector<std::vector<std::int64_t>> readers_;  // by row, ascending
  NetworkPlan plan_;
};

constexpr std::int64_t kFloat = sizeof(float), kLabel = sizeof(std::int32_t);

std::int64_t parameter_bytes(const ParameterTable& table, Precision precision) {
  const std::int64_t weighted = table.section(Section::Normalisation).begin, size = bytes_per_value(precision);
  const std::int64_t masters_and_averages = 3 * table.count * kFloat;
  const std::int64_t gradients = weighted * size + (table.count - weighted) * kFloat;
  return masters_and_averages + gradients + (size < kFloat ? weighted * size : 0);
}

}  // namespace

NetworkPlan plan_network(const networks::Network& network, std::int64_t batch, std::int64_t bytes_per_value) {
  return Planner(network, batch, bytes_per_value).make();
}

MemoryNeed memory_need(const networks::Network& network, const Settings& settings, std::int64_t rest) {
  const std::int64_t size = bytes_per_value(settings.precision);
  const NetworkPlan plan = plan_network(network, settings.batch, size);
  const std::int64_t smaller = rest > 0 ? plan_network(network, rest, size).bytes : 0;
  return {.activations = std::max(plan.bytes, smaller),
          .parameters = parameter_bytes(parameter_table(network), settings.precision),
          .batches = settings.streams * settings.batch * (network.image.elements() + kLabel),
          .small = plan.statistics_count * kFloat + settings.batch * (kFloat + kLabel)};
}

nlohmann::ordered_json describe_need(const networks::Network& network, const Settings& settings) {
  const MemoryNeed need = memory_need(network, settings, 0);
  const NetworkPlan plan = plan_network(network, settings.batch, bytes_per_value(settings.precision));
  std::int64_t unshared = 0;
  for (const worker::Lifetime& buffer : plan.lifetimes) unshared += aligned(buffer.bytes);
  return {{"network", network.name},
          {"batch", settings.batch},
          {"precision", to_text(settings.precision)},
          {"activations_bytes", need.activations},
          {"least_activations_bytes", worker::least_bytes(plan.lifetimes, aligned)},
          {"unshared_activations_bytes", unshared},
          {"parameters_bytes", need.parameters},
          {"batches_bytes", need.batches},
          {"workspace_bytes_at_most", settings.workspace_mib << 20},
          {"total_bytes", need.total()}};
}

}  // namespace nocturne::cuda
