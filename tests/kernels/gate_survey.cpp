/// Measures how far right trainers lie apart, from which the gate's tolerances follow (measure/README.md, "The gate").
///
///   nocturne-gate-survey --data examples/data/mnist [--seeds FIRST COUNT] [--batch N] [--precision P] [--layout L]
///     [--threads N] [--isa NAME] [--steps K] [--plant NAME] [--epoch IMAGES]
///
/// One JSON line a seed: losses of the gate's steps, and for each tensor its [norm, moved] after each step. With
/// --epoch instead the losses of an epoch of so many images, dropout on, and the accuracy after it.

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "kernels/data/counter_random.hpp"
#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/onednn/check/gate_run.hpp"
#include "kernels/onednn/settings.hpp"
#include "kernels/worker/training_loop.hpp"
#include "tests/kernels/planted_error.hpp"
#include "tests/kernels/recording_reporter.hpp"

namespace nocturne::onednn {
namespace {

struct SurveyOptions {
  std::string data, plant;
  std::uint64_t first = 1, count = 10;
  std::int64_t steps = 4, images = 0;
  nlohmann::json configuration = nlohmann::json::object();
};

SurveyOptions parse_survey(int argc, char** argv) {
  SurveyOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (name == "--data") options.data = next();
    if (name == "--plant") options.plant = next();
    if (name == "--seeds") options.first = std::stoull(next()), options.count = std::stoull(next());
    if (name == "--steps") options.steps = std::stoll(next());
    if (name == "--epoch") options.images = std::stoll(next());
    if (name == "--batch" || name == "--threads") options.configuration[name.substr(2)] = std::stoll(next());
    if (name == "--precision" || name == "--layout" || name == "--isa") options.configuration[name.substr(2)] = next();
  }
  return options;
}

data::SourceOptions mnist_of(const SurveyOptions& survey, const Settings& settings, std::uint64_t seed) {
  data::SourceOptions options;
  options.folder = survey.data;
  options.image = networks::kMnistCnn.image;
  options.classes = networks::kMnistCnn.classes;
  options.seed = seed;
  options.batch = settings.batch;
  options.partial_batch = true;
  options.for_each_part = on_our_threads();
  return options;
}

TrainerOptions trainer_options(const Settings& settings, std::uint64_t seed, const Sabotage& sabotage) {
  TrainerOptions options;
  options.settings = settings;
  options.seed = seed;
  options.rule = sabotage.rule.value_or(Adadelta{});
  options.tampering = sabotage.tampering;
  return options;
}

void print_gate(const SurveyOptions& survey, const Settings& settings, std::uint64_t seed, const Sabotage& sabotage) {
  protocol::Request request;
  request.seed = seed;
  request.partial_batch = protocol::PartialBatch::Train;
  request.gate = protocol::GateRequest{.steps = survey.steps, .write = {}};
  data::SourceOptions from = mnist_of(survey, settings, seed);
  from.visits = worker::gate_visits(request, settings.batch, data::open_batches(from)->count(), nullptr);
  const auto batches = data::open_batches(from);
  TrainerOptions options = trainer_options(settings, seed, sabotage);
  options.dropout = false;
  Trainer trainer(networks::kMnistCnn, options, *batches);
  test::RecordingReporter reporter;
  run_gate(request, trainer, reporter);
  nlohmann::json line = {{"seed", seed}};
  for (const space::Sample& sample : reporter.run.samples) line["losses"].push_back(*sample.loss);
  for (const space::Norm& norm : reporter.run.norms) line["norms"][norm.layer].push_back({*norm.norm, *norm.moved});
  std::cout << line.dump() << std::endl;
}

void print_epoch(const SurveyOptions& survey, const Settings& settings, std::uint64_t seed, const Sabotage& sabotage) {
  data::SourceOptions from = mnist_of(survey, settings, seed);
  from.visits = data::epoch_order(data::open_batches(from)->count(), seed, 0);
  from.visits.resize(static_cast<std::size_t>(survey.images));
  const auto batches = data::open_batches(from);
  TrainerOptions options = trainer_options(settings, seed, sabotage);
  options.dropout = !sabotage.no_dropout;
  Trainer trainer(networks::kMnistCnn, options, *batches);
  nlohmann::json line = {{"seed", seed}};
  for (bool ended = false; !ended;) {
    const StepResult result = trainer.step();
    ended = result.epoch_ended;
    line["losses"].push_back(result.loss);
  }
  from.visits.clear();
  from.split = data::Split::Test;
  from.shuffle = false;
  const auto held_out = data::open_batches(from);
  line["accuracy"] = static_cast<double>(trainer.evaluate(*held_out).correct) / static_cast<double>(held_out->count());
  std::cout << line.dump() << std::endl;
}

int survey(const SurveyOptions& options) {
  const Settings settings = read_settings(options.configuration);
  apply(settings);
  const Sabotage sabotage = options.plant.empty() ? Sabotage{} : test::planted(options.plant);
  for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed)
    if (options.images > 0)
      print_epoch(options, settings, seed, sabotage);
    else
      print_gate(options, settings, seed, sabotage);
  return 0;
}

}  // namespace
}  // namespace nocturne::onednn

int main(int argc, char** argv) {
  try {
    return nocturne::onednn::survey(nocturne::onednn::parse_survey(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nocturne-gate-survey: %s\n", error.what());
    return 1;
  }
}
