#include "kernels/onednn/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <string>

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
  const std::int64_t batch = main_.batch(), rest = images.count() % batch;
  if (batch > images.count()) {
    throw Unsupported("batch " + std::to_string(batch) + " is larger than the data set of " +
                      std::to_string(images.count()) + " images");
  }
  parameters_.emplace(main_.parameter_layouts(), engine_);
  parameters_->initialise(options.seed, stream_);
  main_.bind(*parameters_);
  const bool reached = options.steps < 0 || options.steps > images.count() / batch;
  if (options.train_partial_batch && rest > 0 && reached) {
    partial_ = std::make_unique<Plan>(network, rest, options.settings.precision, options.settings.layout, engine_);
    partial_->bind(*parameters_);
  }
  begin_epoch();
}

std::int64_t Trainer::steps_per_epoch() const {
  const std::int64_t full = images_.count() / main_.batch();
  const bool rest = images_.count() % main_.batch() > 0;
  return full + (options_.train_partial_batch && rest ? 1 : 0);
}

void Trainer::begin_epoch() {
  ++epoch_;
  position_ = 0;
  order_ = epoch_order(images_.count(), options_.seed, epoch_);
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
  const std::uint64_t draw = key_of(options_.seed, 0xd409, static_cast<std::uint64_t>(steps_done_));
  result.loss = plan.train(labels_.data(), draw);
  if (!is_finite(result.loss)) {
    throw Diverged("the loss of step " + std::to_string(steps_done_) + " is not a finite number");
  }
  const auto update_begin = std::chrono::steady_clock::now();
  parameters_->update(options_.rule);
  if (profile_ != nullptr) {
    (*profile_)["(adadelta)"].add((std::chrono::steady_clock::now() - update_begin).count());
    (*profile_)["(gather)"].add(result.data_wait_ns);
  }
  ++steps_done_;
  position_ += plan.batch();
  result.epoch_ended = position_ == images_.count() || (partial_is_next() && !partial_);
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
