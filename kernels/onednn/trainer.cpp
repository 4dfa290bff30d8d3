#include "kernels/onednn/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/onednn/layers/elementwise.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/random.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::onednn {
namespace {

// `planes`: images times channels, each of `area` pixels.
template <typename T>
void scale_planes(const std::uint8_t* bytes, T* out, std::int64_t planes, std::int64_t area,
                  std::span<const data::Scaling> scaling) {
  const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / area);
  parallel_for(planes, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const data::Scaling& of = scaling[static_cast<std::size_t>(plane) % scaling.size()];
      scale_pixels(bytes + plane * area, out + plane * area, of.factor, of.offset, area);
    }
  });
}

using Clock = std::chrono::steady_clock;

std::int64_t since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

}  // namespace

std::int64_t BatchReader::read(data::BatchSource& source, Plan& plan, std::int64_t first,
                               std::span<std::int32_t> labels) {
  const networks::Shape& image = source.image();
  const std::int64_t size = source.next_size(), values = size * image.elements(), at = first * image.elements();
  if (std::ssize(bytes_) < values) bytes_.resize(static_cast<std::size_t>(values));
  source.next_bytes(std::span(bytes_).first(static_cast<std::size_t>(values)),
                    labels.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size)));
  const std::int64_t planes = size * image.channels, area = image.height * image.width;
  if (plan.precision() == Precision::F32)
    scale_planes(bytes_.data(), plan.input_f32() + at, planes, area, source.scaling());
  else
    scale_planes(bytes_.data(), plan.input_bf16() + at, planes, area, source.scaling());
  return size;
}

data::ForEachPart on_our_threads() {
  return [](std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) {
    parallel_for(count, 1, part);
  };
}

Trainer::Trainer(const networks::Network& network, const TrainerOptions& options, data::BatchSource& batches)
    : batches_(batches),
      options_(options),
      engine_(dnnl::engine::kind::cpu, 0),
      stream_(engine_),
      main_(network, options.settings.batch, options.settings.precision, options.settings.layout, engine_),
      labels_(static_cast<std::size_t>(options.settings.batch)) {
  const int averages = std::holds_alternative<Adadelta>(options.rule) ? 2 : 1;
  parameters_.emplace(main_.parameter_layouts(), engine_, averages);
  parameters_->initialise(options.seed, stream_);
  if (options.initial != nullptr) begin_with(*options.initial);
  main_.bind(*parameters_);
  const std::int64_t full = batches.examples() / main_.batch();
  if (batches.steps_per_epoch() > full && (options.steps < 0 || options.steps > full)) plan_partial();
}

void Trainer::plan_partial() {
  partial_ = std::make_unique<Plan>(main_.network(), batches_.examples() % main_.batch(), options_.settings.precision,
                                    options_.settings.layout, engine_);
  partial_->bind(*parameters_);
}

void Trainer::begin_with(const protocol::InitialState& initial) {
  const std::string where = "initial state: ";
  const std::string_view network = main_.network().name;
  if (initial.network != network)
    throw std::runtime_error(where + "it is of network '" + initial.network + "', not of " + std::string(network));
  for (const ParameterTensor& tensor : parameters_->tensors()) {
    const std::string& name = tensor.layout.name;
    const auto found = std::ranges::find(initial.tensors, name, &protocol::InitialTensor::name);
    if (found == initial.tensors.end()) throw std::runtime_error(where + "there is no tensor " + name);
    if (found->shape != tensor.layout.shape)
      throw std::runtime_error(where + "tensor " + name + " has another shape than the network's");
    parameters_->assign(name, found->values, stream_);
  }
  if (initial.tensors.size() != parameters_->tensors().size())
    throw std::runtime_error(where + "it has more tensors than network " + std::string(network));
}

UpdateRule Trainer::rule_now() const {
  UpdateRule rule = options_.rule;
  const double factor = options_.learning_rate.factor(main_.batch(), steps_done_, steps_per_epoch());
  std::visit([factor](auto& each) { each.rate = static_cast<float>(each.rate * factor); }, rule);
  return rule;
}

StepResult Trainer::step() {
  const bool partial = partial_is_next();
  if (partial && !partial_) plan_partial();  // more steps than were foreseen
  Plan& plan = partial ? *partial_ : main_;
  StepResult result{.images = plan.batch(), .partial = partial, .epoch_ended = batches_.next_ends_epoch()};
  const auto begin = Clock::now();
  reader_.read(batches_, plan, 0, labels_);
  result.data_wait_ns = since(begin);
  const Tampering& tampering = options_.tampering;
  if (tampering.labels)
    tampering.labels(std::span(labels_).first(static_cast<std::size_t>(plan.batch())), result.epoch_ended);
  const std::uint64_t draw = key_of(options_.seed, 0xd409, static_cast<std::uint64_t>(steps_done_));
  result.loss =
      plan.train(labels_.data(), options_.dropout ? std::optional(draw) : std::nullopt, options_.label_smoothing);
  if (!is_finite(result.loss))
    throw worker::Diverged("the loss of step " + std::to_string(steps_done_) + " is not a finite number");
  if (tampering.gradients) tampering.gradients(*parameters_);
  const auto update_begin = Clock::now();
  parameters_->update(rule_now());
  if (profile_ != nullptr && !partial) {
    profile_->add_own("(update)", since(update_begin));
    profile_->add_own("(batch)", result.data_wait_ns);
    profile_->add_step(since(begin));
  }
  if (tampering.values) tampering.values(*parameters_);
  ++steps_done_;
  return result;
}

Score Trainer::evaluate(data::BatchSource& set) {
  Score total;
  for (std::int64_t left = set.examples(); left > 0;) {
    if (set.next_size() > main_.batch()) throw std::logic_error("evaluate: batches are larger than the trainer's");
    std::int64_t count = 0;  // images behind them are old ones, and are not judged
    while (left > 0 && count + set.next_size() <= main_.batch()) {
      const std::int64_t read = reader_.read(set, main_, count, labels_);
      count += read;
      left -= read;
    }
    const Score score = judge(main_.infer(), labels_.data(), count, main_.network().classes);
    total.loss += score.loss;
    total.correct += score.correct;
  }
  return total;
}

std::vector<Implementation> Trainer::implementations() const {
  std::vector<Implementation> all = main_.implementations();
  if (!partial_) return all;
  for (const Implementation& each : partial_->implementations())
    if (each.reference) all.push_back(each);
  return all;
}

void Trainer::profile(Profile* into) {
  profile_ = into;
  main_.profile(into);
}

}  // namespace nocturne::onednn
