#include "kernels/onednn/session.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>

#include "kernels/onednn/configuration.hpp"
#include "kernels/onednn/gate_run.hpp"
#include "kernels/onednn/instruction_set.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/refusal.hpp"
#include "kernels/onednn/surroundings.hpp"
#include "kernels/onednn/training_loop.hpp"
#include "kernels/onednn/version.hpp"

namespace nocturne::onednn {
namespace {

// A phase that an exception leaves stays open in the events: that is where it happened.
template <typename Work>
auto in_phase(Reporter& reporter, const char* name, const Work& work) {
  reporter.phase_begin(name);
  auto result = work();
  reporter.phase_end(name);
  return result;
}

const networks::Network& known_network(const std::string& name) {
  try {
    return networks::find_network(name);
  } catch (const std::out_of_range& error) {
    throw Unsupported(error.what());
  }
}

Settings import_settings(const protocol::Request& request) {
  const Settings settings = read_settings(request.configuration);
  if (request.optimizer != "adadelta") {
    throw Unsupported("unknown optimizer '" + request.optimizer + "', known: adadelta");
  }
  apply(settings);
  if (settings.precision == Precision::Bf16 && bf16_support() == "none") {
    throw Unsupported("bf16 needs AVX512_CORE at least, oneDNN uses " + effective_instruction_set());
  }
  parallel_for(threads(), 1, [](std::int64_t, std::int64_t) {});  // starts the pool: its cost belongs here
  return settings;
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
  nlohmann::json fields = surroundings();
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
  fields["gate"] = true;
  fields["parameters"] = trainer.plan().network().parameters;
  fields["buffer_bytes"] = trainer.plan().bytes();
  fields["implementations"] = implementations;
  return fields;
}

void report_accuracy(const protocol::Request& request, Trainer& trainer, Reporter& reporter) {
  reporter.phase_begin("accuracy");
  const ImageSet test = load_images(request.data, request.data_folder, Split::Test, trainer.plan().network());
  const Score score = trainer.evaluate(test);
  reporter.phase_end("accuracy");
  const auto examples = static_cast<double>(test.count());
  reporter.accuracy(static_cast<double>(score.correct) / examples, score.loss / examples, test.count());
}

void train_gate(const protocol::Request& request, Reporter& reporter, const Settings& settings, const ImageSet& images,
                const Sabotage& sabotage) {
  std::optional<protocol::InitialState> initial;
  if (request.initial) initial = protocol::read_initial_state(*request.initial);
  TrainerOptions options = gate_options(request, settings, images, initial ? &*initial : nullptr);
  options.rule = sabotage.rule;
  options.tampering = sabotage.tampering;
  const networks::Network& network = known_network(request.network);
  const auto trainer =
      in_phase(reporter, "compile", [&] { return std::make_unique<Trainer>(network, options, images); });
  reporter.ready(ready_fields(settings, *trainer));
  if (request.gate->write) protocol::write_initial_state(*request.gate->write, initial_state_of(*trainer, options));
  run_gate(request, *trainer, reporter);
}

void train(const protocol::Request& request, Reporter& reporter, Profile* profile, const Sabotage& sabotage) {
  reporter.hello();
  const networks::Network& network = known_network(request.network);
  const Settings settings = in_phase(reporter, "import", [&] { return import_settings(request); });
  const ImageSet images =
      in_phase(reporter, "data", [&] { return load_images(request.data, request.data_folder, Split::Train, network); });
  if (request.gate) return train_gate(request, reporter, settings, images, sabotage);
  const TrainerOptions options{.settings = settings,
                               .seed = request.seed,
                               .train_partial_batch = request.partial_batch == protocol::PartialBatch::Train,
                               .steps = steps_asked_for(request),
                               .rule = sabotage.rule,
                               .dropout = !sabotage.no_dropout,
                               .visits = {},
                               .tampering = sabotage.tampering};
  const auto trainer =
      in_phase(reporter, "compile", [&] { return std::make_unique<Trainer>(network, options, images); });
  reporter.ready(ready_fields(settings, *trainer));
  run_training(request, *trainer, reporter, [&] { trainer->profile(profile); });
  if (request.accuracy) report_accuracy(request, *trainer, reporter);
}

}  // namespace

int run_session(const protocol::Request& request, Reporter& reporter, Profile* profile, const Sabotage& sabotage) {
  std::string status = "ok", reason;
  try {
    train(request, reporter, profile, sabotage);
  } catch (const Unsupported& error) {
    status = "unsupported", reason = error.what();
  } catch (const Diverged& error) {
    status = "diverged", reason = error.what();
  } catch (const std::bad_alloc&) {
    status = "failed", reason = "out of memory";
  } catch (const dnnl::error& error) {
    status = error.status == dnnl_unimplemented ? "unsupported" : "failed";
    reason = std::string("oneDNN: ") + error.what();
  } catch (const std::exception& error) {
    status = "failed", reason = error.what();
  }
  reporter.memory(peak_resident_bytes(), 0);
  reporter.end(status, reason);
  return status == "failed" ? 1 : 0;
}

}  // namespace nocturne::onednn
