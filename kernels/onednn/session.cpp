#include "kernels/onednn/session.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/onednn/check/gate_run.hpp"
#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/settings.hpp"
#include "kernels/worker/refusal.hpp"
#include "kernels/worker/surroundings.hpp"
#include "kernels/worker/training_loop.hpp"

namespace nocturne::onednn {
namespace {

// The loop of all native workers (kernels/worker/training_loop.hpp) with this worker's trainer.

// A step on the CPU is over when step() returns.
class TrainerSteps final : public worker::Training {
 public:
  using Evaluate = std::function<worker::TestScore()>;
  TrainerSteps(Trainer& trainer, Evaluate evaluate) : trainer_(trainer), evaluate_(std::move(evaluate)) {}

  worker::StepFacts step() override {
    const StepResult result = trainer_.step();
    const auto loss = static_cast<double>(result.loss);
    settled_.loss = loss;
    settled_.loss_sum += loss * static_cast<double>(result.images);
    return {.images = result.images,
            .data_wait_ns = result.data_wait_ns,
            .partial = result.partial,
            .epoch_ended = result.epoch_ended};
  }
  worker::MeanLoss settle() override { return std::exchange(settled_, {}); }
  [[nodiscard]] bool partial_is_next() const override { return trainer_.partial_is_next(); }
  [[nodiscard]] std::int64_t steps_per_epoch() const override { return trainer_.steps_per_epoch(); }
  [[nodiscard]] worker::TestScore evaluate() override { return evaluate_(); }

 private:
  Trainer& trainer_;
  Evaluate evaluate_;
  worker::MeanLoss settled_;
};

using worker::Diverged;
using worker::in_phase;
using worker::known_network;
using worker::Reporter;
using worker::Unsupported;

constexpr const char* kRefused = "this machine's memory is too small: it was refused";

UpdateRule rule_of(const protocol::Request& request) {
  if (request.optimizer == "adadelta") return Adadelta{};
  if (request.optimizer == "sgd_momentum") {
    return Momentum{.rate = static_cast<float>(request.momentum.learning_rate),
                    .momentum = static_cast<float>(request.momentum.momentum),
                    .decay = static_cast<float>(request.momentum.weight_decay)};
  }
  throw Unsupported("unknown optimizer '" + request.optimizer + "', known: adadelta, sgd_momentum");
}

Settings import_settings(const protocol::Request& request) {
  const Settings settings = read_settings(request.configuration);
  static_cast<void>(rule_of(request));
  static_cast<void>(worker::read_learning_rate_rule(request.configuration));
  if ((request.accuracy || request.curve) && request.data == "synthetic")
    throw Unsupported("the data set synthetic has no test images: accuracy cannot be told");
  apply(settings);
  if (settings.precision == Precision::Bf16 && bf16_support() == "none")
    throw Unsupported("bf16 needs AVX512_CORE at least, oneDNN uses " + effective_instruction_set());
  parallel_for(threads(), 1, [](std::int64_t, std::int64_t) {});  // starts the pool: its cost belongs here
  return settings;
}

// Its affinity is that of the whole pool, not of the thread that asks.
nlohmann::json surroundings_of_all() {
  const OnAllPlaces meanwhile;
  return worker::surroundings();
}

nlohmann::json ready_fields(const Settings& settings, const Trainer& trainer) {
  nlohmann::json implementations = nlohmann::json::array();
  for (const Implementation& each : trainer.implementations()) {
    implementations.push_back({{"layer", each.layer},
                               {"primitive", each.primitive},
                               {"implementation", each.name},
                               {"reference", each.reference}});
    if (each.reference) {
      std::fprintf(stderr, "warning: %s %s runs oneDNN's reference code (%s): hundreds of times slower\n",
                   each.layer.c_str(), each.primitive.c_str(), each.name.c_str());
    }
  }
  if (settings.precision == Precision::Bf16 && bf16_support() == "emulated") {
    std::fprintf(stderr, "warning: bf16 is emulated with %s: several times slower than f32\n",
                 effective_instruction_set().c_str());
  }
  const dnnl_version_t* version = dnnl_version();
  nlohmann::json fields = surroundings_of_all();
  fields["versions"] = {{"worker", kWorkerVersion},
                        {"onednn", std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                                       std::to_string(version->patch)},
                        {"onednn_commit", version->hash},
                        {"compiler", __VERSION__}};
  fields["threads"] = threads();
  fields["isa"] = effective_instruction_set();
  fields["bf16"] = bf16_support();
  fields["precision"] = to_text(settings.precision);
  fields["layout"] = to_text(settings.layout);
  fields["batch"] = settings.batch;
  fields["data_threads"] = settings.data_threads;
  if (settings.data_threads > 0) fields["prefetch"] = settings.prefetch;
  fields["gate"] = true;
  fields["parameters"] = trainer.plan().network().parameters;
  fields["buffer_bytes"] = trainer.plan().bytes();
  fields["buffer_bytes_unshared"] = trainer.plan().unshared_bytes();
  fields["peak_rss_bytes"] = worker::peak_resident_bytes();
  fields["implementations"] = implementations;
  return fields;
}

data::SourceOptions source_options(const protocol::Request& request, const Settings& settings,
                                   const networks::Network& network) {
  data::SourceOptions options;
  options.data = request.data;
  options.folder = request.data_folder;
  options.image = network.image;
  options.classes = network.classes;
  options.seed = request.seed;
  options.batch = settings.batch;
  options.partial_batch = request.partial_batch == protocol::PartialBatch::Train;
  options.threads = settings.data_threads;
  options.prefetch = settings.prefetch;
  options.skip_broken = request.skip_broken;
  options.for_each_part = on_our_threads();
  return options;
}

std::unique_ptr<data::BatchSource> open_source(const data::SourceOptions& options) {
  if (options.threads == 0) return data::open_batches(options);
  const OnAllPlaces meanwhile;
  return data::open_batches(options);
}

worker::TestScore test(const protocol::Request& request, const Settings& settings, Trainer& trainer) {
  data::SourceOptions options = source_options(request, settings, trainer.plan().network());
  options.split = data::Split::Test;
  options.shuffle = false;
  options.batch = 1;  // a test set may be smaller than a batch
  // Two images a thread: as many batches ahead as in training would leave most threads without one.
  options.prefetch = std::clamp(2 * settings.data_threads, settings.prefetch, data::kMostPrefetch);
  const auto set = open_source(options);
  const Score score = trainer.evaluate(*set);
  return {.loss = score.loss, .correct = score.correct, .images = set->count()};
}

void report_accuracy(const protocol::Request& request, const Settings& settings, Trainer& trainer, Reporter& reporter) {
  const auto score = in_phase(reporter, "accuracy", [&] { return test(request, settings, trainer); });
  const auto images = static_cast<double>(score.images);
  reporter.accuracy(static_cast<double>(score.correct) / images, score.loss / images, score.images);
}

std::unique_ptr<Trainer> compile(Reporter& reporter, const networks::Network& network, const TrainerOptions& options,
                                 data::BatchSource& batches) {
  auto trainer = in_phase(reporter, "compile", [&] { return std::make_unique<Trainer>(network, options, batches); });
  reporter.ready(ready_fields(options.settings, *trainer));
  return trainer;
}

void train_gate(const protocol::Request& request, Reporter& reporter, const networks::Network& network,
                TrainerOptions options) {
  std::optional<protocol::InitialState> initial;
  if (request.initial) initial = protocol::read_initial_state(*request.initial);
  data::SourceOptions from = source_options(request, options.settings, network);
  from.partial_batch = true;  // the visits say whether there is one
  const auto batches = in_phase(reporter, "data", [&] {
    const std::int64_t count = open_source(from)->count();
    from.visits = worker::gate_visits(request, options.settings.batch, count, initial ? &*initial : nullptr);
    return open_source(from);
  });
  options.dropout = false;
  options.initial = initial ? &*initial : nullptr;
  const auto trainer = compile(reporter, network, options, *batches);
  if (request.gate->write) protocol::write_initial_state(*request.gate->write, initial_state_of(*trainer, from.visits));
  run_gate(request, *trainer, reporter);
}

void warn_of_skipped(const data::BatchSource& batches) {
  if (batches.skipped() == 0) return;
  std::fprintf(stderr, "warning: %lld times a file was no image that could be decoded, and another took its place\n",
               static_cast<long long>(batches.skipped()));
}

void train(const protocol::Request& request, Reporter& reporter, Profile* profile, const Sabotage& sabotage) {
  reporter.hello();
  const networks::Network& network = known_network(request.network);
  TrainerOptions options;
  options.settings = in_phase(reporter, "import", [&] { return import_settings(request); });
  options.seed = request.seed;
  // In turns so many are asked for in all; a smaller batch that they do not reach must not take memory.
  options.steps = request.gate ? -1 : request.turns ? request.steps + 1 : worker::steps_asked_for(request);
  options.rule = sabotage.rule.value_or(rule_of(request));
  options.learning_rate = worker::read_learning_rate_rule(request.configuration);
  options.label_smoothing = static_cast<float>(request.label_smoothing);
  options.dropout = !sabotage.no_dropout;
  options.tampering = sabotage.tampering;
  if (request.gate) return train_gate(request, reporter, network, options);
  const auto batches =
      in_phase(reporter, "data", [&] { return open_source(source_options(request, options.settings, network)); });
  const auto trainer = compile(reporter, network, options, *batches);
  TrainerSteps steps(*trainer, [&] { return test(request, options.settings, *trainer); });
  worker::run_training(request, steps, reporter, [&] { trainer->profile(profile); });
  warn_of_skipped(*batches);
  if (request.accuracy) report_accuracy(request, options.settings, *trainer, reporter);
}

}  // namespace

int run_request(const protocol::Request& request, Reporter& reporter, Profile* profile, const Sabotage& sabotage) {
  std::string status = "ok", reason;
  try {
    train(request, reporter, profile, sabotage);
  } catch (const Unsupported& error) {
    status = "unsupported", reason = error.what();
  } catch (const data::UnsupportedData& error) {
    status = "unsupported", reason = error.what();
  } catch (const Diverged& error) {
    status = "diverged", reason = error.what();
  } catch (const std::bad_alloc&) {
    status = "out_of_memory", reason = kRefused;
  } catch (const dnnl::error& error) {
    status = error.status == dnnl_unimplemented ? "unsupported" : "failed";
    reason = std::string("oneDNN: ") + error.what();
    if (error.status == dnnl_out_of_memory) status = "out_of_memory", reason = kRefused;
  } catch (const std::exception& error) {
    status = "failed", reason = error.what();
  }
  reporter.memory(worker::peak_resident_bytes(), 0);
  reporter.end(status, reason);
  return status == "failed" ? 1 : 0;
}

}  // namespace nocturne::onednn
