#include "kernels/onednn/options.hpp"

#include <algorithm>
#include <charconv>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/instruction_set.hpp"

namespace nocturne::onednn {
namespace {

using worker::whole_number;

constexpr double kLargestNumber = 1e18;

double decimal(const std::string& option, const std::string& text, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || !(value <= most)) {
    throw UsageError(option + " " + text + ": a number from 0 on is expected" +
                     (most < kLargestNumber ? ", no larger than " + std::to_string(most) : ""));
  }
  return value;
}

using Setter = worker::Valued<Options>::mapped_type;

Setter configure(const char* key) {
  return [key](Options& options, const std::string&, const std::string& value) {
    options.request.configuration[key] = value;
  };
}

Setter configure_number(const char* key) {
  return [key](Options& options, const std::string& option, const std::string& value) {
    options.request.configuration[key] = whole_number(option, value);
  };
}

protocol::GateRequest& gate_of(Options& options) {
  if (!options.request.gate) options.request.gate.emplace();
  return *options.request.gate;
}

const worker::Valued<Options>& valued_options() {
  using O = Options;
  using S = const std::string;
  static const worker::Valued<Options> all = worker::with_training_options<Options>({
      {"--data", [](O& o, S&, S& value) { o.request.data_folder = value; }},
      {"--precision", configure("precision")},
      {"--layout", configure("layout")},
      {"--isa", configure("isa")},
      {"--batch", configure_number("batch")},
      {"--learning-rate-rule", configure("learning_rate_rule")},
      {"--threads", configure_number("threads")},
      {"--data-threads", configure_number("data_threads")},
      {"--prefetch", configure_number("prefetch")},
      {"--learning-rate",
       [](O& o, S& name, S& v) { o.request.momentum.learning_rate = decimal(name, v, kLargestNumber); }},
      {"--momentum", [](O& o, S& name, S& v) { o.request.momentum.momentum = decimal(name, v, 0.999999); }},
      {"--weight-decay",
       [](O& o, S& name, S& v) { o.request.momentum.weight_decay = decimal(name, v, kLargestNumber); }},
      {"--label-smoothing", [](O& o, S& name, S& v) { o.request.label_smoothing = decimal(name, v, 0.999999); }},
      {"--curve",
       [](O& o, S& name, S& value) {
         o.request.curve.emplace().points_per_epoch = std::max<std::int64_t>(1, whole_number(name, value));
       }},
      {"--peak", [](O& o, S& name, S& v) { o.peak_gflops = decimal(name, v, kLargestNumber); }},
      {"--gate-steps",
       [](O& o, S& name, S& value) { gate_of(o).steps = std::max<std::int64_t>(1, whole_number(name, value)); }},
      {"--dump-gate", [](O& o, S&, S& value) { gate_of(o).write = value; }},
      {"--initial",
       [](O& o, S&, S& value) {
         gate_of(o);
         o.request.initial = value;
       }},
      {"--partial-batch",
       [](O& o, S&, S& value) {
         if (value != "drop" && value != "train") throw UsageError("--partial-batch: drop or train");
         o.request.partial_batch = value == "drop" ? protocol::PartialBatch::Drop : protocol::PartialBatch::Train;
       }},
  });
  return all;
}

const worker::Flags<Options>& flags() {
  const auto command = [](Command which) { return [which](Options& options) { options.command = which; }; };
  static const worker::Flags<Options> all = {
      {"--train", command(Command::Train)},
      {"--describe", command(Command::Describe)},
      {"--check-gradients", command(Command::CheckGradients)},
      {"--version", command(Command::Version)},
      {"--help", command(Command::Help)},
      {"-h", command(Command::Help)},
      {"--profile", [](Options& options) { options.profile = true; }},
  };
  return all;
}

// By hand only the network is named: its data set and optimizer are what it is trained with.
void take_workload(protocol::Request& request) {
  try {
    const networks::Network& network = networks::find_network(request.network);
    request.data = network.data;
    request.optimizer = network.optimizer;
  } catch (const std::out_of_range& error) {
    throw UsageError(std::string("--network: ") + error.what());
  }
  if (request.data == "synthetic" && !request.data_folder.empty()) request.data = "folder";
  if (request.data == "synthetic") request.accuracy = false, request.curve.reset();  // of noise
  if (request.data == "mnist" && request.data_folder.empty())
    throw UsageError("--train needs --data FOLDER (train-images-idx3-ubyte.gz, …, SHA256SUMS)");
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  options.request.epochs = 1;  // of --train; a request file says its own
  options.request.accuracy = true;
  worker::read_arguments(arguments, options, flags(), valued_options());
  if (worker::are_served(options.request_path, options.events_path)) options.command = Command::Serve;
  if (options.command == Command::Train) take_workload(options.request);
  return options;
}

std::string help_text() {
  return R"(nocturne-onednn: trains networks on the CPU with oneDNN

As a worker of Nocturne:
  nocturne-onednn --request REQUEST.json --events EVENTS.jsonl

By hand:
  nocturne-onednn --train --data FOLDER   train and print step times and test accuracy
    --network NAME        mnist_cnn (default), resnet50, resnet20; the last two train on random images without --data,
                          with it on a folder of JPEGs, one sub-folder a class (train/…, val/…)
    --epochs N            whole epochs (default 1)         --steps N   instead: one step and N more
    --batch N             images a step (default 128)      --seed N    weights, order, dropout (default 1)
    --precision f32|bf16  (default f32)                    --threads N (default: OMP_NUM_THREADS, else all CPUs)
    --layout blocked|plain   activations as each primitive likes them, or channels-last (default blocked)
    --partial-batch drop|train   an epoch's last images, if fewer than a batch (default drop)
    --isa NAME            use no more than this instruction set: )" +
         known_instruction_sets() + R"(
    --data-threads N      threads that read ahead (default 0: batches are made between steps)
    --prefetch N          batches made ahead (default 2)
    --learning-rate X     of SGD with momentum (default 0.01), as --momentum X (0.9) and --weight-decay X (0.0001)
    --label-smoothing X   share of a label given to all classes alike (default 0)
    --learning-rate-rule none|linear|square_root|linear_warm_up|square_root_warm_up
                          how the rate follows the batch size: as it is (default), times batch / 128 or its root, at once
                          or in equal steps during the first epoch
    --curve N             print the test accuracy N times an epoch
    --profile             print where the time goes, operation by operation and layer by layer
    --peak GFLOPS         with it: what the machine can do with this precision and these threads (nocturne-machine
                          measures it), to print shares of it
    --gate-steps K        instead: the epoch's last K steps from the initial weights, nothing dropped; prints losses and
                          each layer's norms, by which trainers are compared (default of the next two: 8)
    --dump-gate FILE      the same, and writes the weights and batches it begins with
    --initial FILE        the same, beginning with those of the file
  nocturne-onednn --describe [--network NAME]   layers, shapes, parameters, floating-point operations as JSON
  nocturne-onednn --check-gradients [--precision …] [--batch N] [--layout …] [--isa …] [--threads N] [--seed N]
                                                gradients of every layer against a double-precision reference
  nocturne-onednn --version | --help

Affinity, allocator, huge pages and OpenMP's waiting are the environment's: taskset, LD_PRELOAD, GLIBC_TUNABLES,
OMP_WAIT_POLICY and the like.

Examples:
  nocturne-onednn --train --epochs 12 --batch 128 --precision bf16 --seed 1 --data examples/data/mnist
  OMP_WAIT_POLICY=passive taskset -c 0 nocturne-onednn --train --steps 200 --threads 1 --data examples/data/mnist
  nocturne-onednn --train --network resnet50 --batch 16 --steps 10 --threads 2 --profile --peak 233
  nocturne-onednn --check-gradients --precision bf16
  nocturne-onednn --check-gradients --network resnet20 --batch 4

Exit codes: 0 done (also where the request is unsupported, memory was refused or the training diverged: the events say
so), 1 failed or gradients differ, 2 wrong usage.
)";
}

}  // namespace nocturne::onednn
