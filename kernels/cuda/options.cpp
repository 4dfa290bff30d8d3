#include "kernels/cuda/options.hpp"

#include <cmath>
#include <cstdlib>

namespace nocturne::cuda {
namespace {

constexpr double kLongestSurvey = 600;

double seconds(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(value) || value <= 0 || value > kLongestSurvey)
    throw UsageError(option + " " + text + ": a number above 0 and at most 600 is expected");
  return value;
}

// NAME=VALUE into the configuration: a number, true or false where it reads as one, else a text.
void set_value(nlohmann::json& configuration, const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || sign == std::string::npos) throw UsageError("--set " + text + ": NAME=VALUE is expected");
  const std::string value = text.substr(sign + 1);
  const nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
  const bool scalar = parsed.is_number() || parsed.is_boolean();
  configuration[text.substr(0, sign)] = scalar ? parsed : nlohmann::json(value);
}

const worker::Valued<Options>& valued_options() {
  using O = Options;
  using S = const std::string;
  static const worker::Valued<Options> all = worker::with_training_options<Options>({
      {"--data", [](O& o, S&, S& value) { o.request.data = value; }},
      {"--folder", [](O& o, S&, S& value) { o.request.data_folder = value; }},
      {"--optimizer", [](O& o, S&, S& value) { o.request.optimizer = value; }},
      {"--set", [](O& o, S&, S& value) { set_value(o.request.configuration, value); }},
      {"--seconds", [](O& o, S& name, S& value) { o.survey_seconds = seconds(name, value); }},
  });
  return all;
}

const worker::Flags<Options>& flags() {
  const auto command = [](Command which) { return [which](Options& options) { options.command = which; }; };
  static const worker::Flags<Options> all = {
      {"--train", command(Command::Train)},     {"--plan", command(Command::Plan)},
      {"--probe", command(Command::Probe)},     {"--machine", command(Command::Machine)},
      {"--help", command(Command::Help)},       {"-h", command(Command::Help)},
      {"--version", command(Command::Version)},
  };
  return all;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  options.request.epochs = 1;  // of --train; a request file says its own
  options.request.accuracy = true;
  worker::read_arguments(arguments, options, flags(), valued_options());
  if (worker::are_served(options.request_path, options.events_path)) options.command = Command::Serve;
  if (options.request.data == "synthetic") options.request.accuracy = false;  // it has no test images
  if (options.command == Command::Train && options.request.data != "synthetic" && options.request.data_folder.empty())
    throw UsageError("--train needs --folder FOLDER with the data set, or --data synthetic");
  return options;
}

std::string help_text() {
  return R"(nocturne-cudnn: trains networks on an NVIDIA GPU with cuDNN

As a worker of Nocturne:
  nocturne-cudnn --request REQUEST.json --events EVENTS.jsonl

By hand:
  nocturne-cudnn --train --folder FOLDER   train and print step times and test accuracy
    --network NAME        mnist_cnn (default), resnet50, resnet20
    --data NAME           mnist (default), synthetic (needs no folder), folder
    --optimizer NAME      adadelta (default), sgd_momentum
    --epochs N            whole epochs (default 1)         --steps N   instead: one step and N more
    --seed N              weights, order, dropout (default 1)
    --set NAME=VALUE      of the configuration, as often as needed:
                          precision=f32|tf32|bf16|f16  layout=nchw|nhwc  algorithm=heuristic|find|fixed  batch=128
                          workspace_mib=256  fusion=off|auto  cuda_graphs=false|true  streams=1|2  data_threads=0
                          prefetch=2
  nocturne-cudnn --plan [--network NAME] [--set …]   memory that a training takes on the GPU, as JSON; needs no GPU
  nocturne-cudnn --probe                             the GPU, its driver and why it cannot be used, as JSON
  nocturne-cudnn --machine [--seconds S]             what each GPU can do at best, as JSON: arithmetic by precision, memory,
                                                     PCIe; S seconds for all of it (default 10). Nothing else should
                                                     run meanwhile
  nocturne-cudnn --version | --help

The GPU is the first that the driver shows; CUDA_VISIBLE_DEVICES chooses another. Without one, or with one that cannot
do what is asked, the answer is `unsupported` with the reason.

Examples:
  nocturne-cudnn --train --folder examples/data/mnist --epochs 12 --set precision=tf32
  nocturne-cudnn --train --network resnet50 --data synthetic --optimizer sgd_momentum --steps 50 \
      --set precision=bf16 --set layout=nhwc --set batch=96 --set cuda_graphs=true --set streams=2
  nocturne-cudnn --plan --network resnet50 --set batch=256 --set precision=f16
  nocturne-cudnn --machine --seconds 5

Exit codes: 0 done (also where the request is unsupported, the training diverged or the GPU's memory did not suffice: the
events say so), 1 failed or computed a wrong result, 2 wrong usage.
)";
}

}  // namespace nocturne::cuda
