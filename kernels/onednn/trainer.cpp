#include "kernels/onednn/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/onednn/random.hpp"
#include "kernels/onednn/refusal.hpp"

namespace nocturne::onednn {
namespace {

void fill(Plan& plan, const ImageSet& set, std::span<const std::int32_t> indices, std::uint8_t* labels) {
  if (plan.precision() == Precision::F32) {
    gather(set, indices, plan.input_f32(), labels);
  } else {
    gather(set, indices, plan.input_bf16(), labels);
  }
}

}  // namespace

Trainer::Trainer(const networks::Network& network, const TrainerOptions& options, const ImageSet& images)
    : images_(images),
      options_(options),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_),
      main_(network, options.settings.batch, options.settings.precision, options.settings.layout, engine_),
      labels_(static_cast<std::size_t>(options.settings.batch)) {
  const std::int64_t batch = main_.batch(), rest = visited() % batch;
  if (batch > images.count()) {
    throw Unsupported("batch " + std::to_string(batch) + " is larger than the data set of " +
                      std::to_string(images.count()) + " images");
  }
  parameters_.emplace(main_.parameter_layouts(), engine_);
  for (const std::int32_t image : options.visits) {
    if (image < 0 || image >= images.count()) {
      throw std::runtime_error("image " + std::to_string(image) + " is asked for, the data set has " +
                               std::to_string(images.count()));
    }
  }
  parameters_->initialise(options.seed, stream_);
  if (options.initial != nullptr) begin_with(*options.initial);
  main_.bind(*parameters_);
  const bool reached = options.steps < 0 || options.steps > visited() / batch;
  if (options.train_partial_batch && rest > 0 && reached) {
    partial_ = std::make_unique<Plan>(network, rest, options.settings.precision, options.settings.layout, engine_);
    partial_->bind(*parameters_);
  }
  begin_epoch();
}

void Trainer::begin_with(const protocol::InitialState& initial) {
  const std::string where = "initial state: ";
  const std::string_view network = main_.network().name;
  if (initial.network != network) {
    throw std::runtime_error(where + "it is of network '" + initial.network + "', not of " + std::string(network));
  }
  for (const ParameterTensor& tensor : parameters_->tensors()) {
    const std::string& name = tensor.layout.name;
    const auto found = std::ranges::find(initial.tensors, name, &protocol::InitialTensor::name);
    if (found == initial.tensors.end()) throw std::runtime_error(where + "there is no tensor " + name);
    if (found->shape != tensor.layout.desc.get_dims()) {
      throw std::runtime_error(where + "tensor " + name + " has another shape than the network's");
    }
    parameters_->assign(name, found->values, stream_);
  }
  if (initial.tensors.size() != parameters_->tensors().size()) {
    throw std::runtime_error(where + "it has more tensors than network " + std::string(network));
  }
}

std::int64_t Trainer::steps_per_epoch() const {
  const std::int64_t full = visited() / main_.batch();
  const bool rest = visited() % main_.batch() > 0;
  return full + (options_.train_partial_batch && rest ? 1 : 0);
}

void Trainer::begin_epoch() {
  ++epoch_;
  position_ = 0;
  order_ = options_.visits.empty() ? epoch_order(images_.count(), options_.seed, epoch_) : options_.visits;
}

StepResult Trainer::step() {
  const bool partial = partial_is_next();
  Plan& plan = partial ? *partial_ : main_;
  StepResult result{.images = plan.batch(), .partial = partial};
  const auto begin = std::chrono::steady_clock::now();
  const std::span<const std::int32_t> order(order_);
  fill(plan, images_, order.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(plan.batch())),
       labels_.data());
  result.data_wait_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  const std::int64_t next = position_ + plan.batch();
  result.epoch_ended = next == visited() || (next + main_.batch() > visited() && !partial_);
  const Tampering& tampering = options_.tampering;
  if (tampering.labels) {
    tampering.labels(std::span(labels_).first(static_cast<std::size_t>(plan.batch())), result.epoch_ended);
  }
  const std::uint64_t draw = key_of(options_.seed, 0xd409, static_cast<std::uint64_t>(steps_done_));
  result.loss = plan.train(labels_.data(), options_.dropout ? std::optional(draw) : std::nullopt);
  if (!is_finite(result.loss)) {
    throw Diverged("the loss of step " + std::to_string(steps_done_) + " is not a finite number");
  }
  if (tampering.gradients) tampering.gradients(*parameters_);
  const auto update_begin = std::chrono::steady_clock::now();
  parameters_->update(options_.rule);
  if (profile_ != nullptr) {
    (*profile_)["(adadelta)"].add((std::chrono::steady_clock::now() - update_begin).count());
    (*profile_)["(gather)"].add(result.data_wait_ns);
  }
  if (tampering.values) tampering.values(*parameters_);
  ++steps_done_;
  position_ = next;
  return result;
}

Score Trainer::evaluate(const ImageSet& set) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(main_.batch()));
  Score total;
  for (std::int64_t first = 0; first < set.count(); first += main_.batch()) {
    const std::int64_t count = std::min(main_.batch(), set.count() - first);
    // The last batch repeats its first image where the set is at its end; what comes of that is not judged.
    for (std::int64_t i = 0; i < main_.batch(); ++i) {
      indices[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(first + (i < count ? i : 0));
    }
    fill(main_, set, indices, labels_.data());
    const Score score = judge(main_.infer(), labels_.data(), count, main_.network().classes);
    total.loss += score.loss;
    total.correct += score.correct;
  }
  return total;
}

std::vector<Implementation> Trainer::implementations() const {
  std::vector<Implementation> all = main_.implementations();
  if (!partial_) return all;
  for (const Implementation& each : partial_->implementations()) {
    if (each.reference) all.push_back(each);
  }
  return all;
}

void Trainer::profile(Profile* into) {
  profile_ = into;
  main_.profile(into);
  if (partial_) partial_->profile(into);
}

}  // namespace nocturne::onednn
