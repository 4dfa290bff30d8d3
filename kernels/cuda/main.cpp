/// nocturne-cudnn: the GPU worker. help_text() in options.cpp is its manual.

#include <chrono>
#include <iostream>
#include <string>

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/options.hpp"
#include "kernels/cuda/plan/network_plan.hpp"
#include "kernels/cuda/session.hpp"
#include "kernels/cuda/survey/gpu_loops.hpp"
#include "kernels/worker/arguments.hpp"

namespace {

using namespace nocturne;
using cuda::Command;
using cuda::Options;

int serve(const Options& options) {
  worker::ProtocolReporter reporter(options.events_path, cuda::kWorkerName, cuda::kWorkerVersion);
  return worker::serve(options.request_path, reporter,
                       [&](const protocol::Request& request) { return cuda::run_request(request, reporter); });
}

int train(const Options& options) {
  worker::ConsoleReporter reporter;
  return cuda::run_request(options.request, reporter);
}

int plan(const Options& options) {
  const networks::Network& network = networks::find_network(options.request.network);
  std::cout << cuda::describe_need(network, cuda::read_settings(options.request.configuration)).dump(2) << '\n';
  return 0;
}

int probe() {
  const cuda::DeviceFacts facts = cuda::probe_device();
  const auto reason = cuda::obstacle(facts, cuda::Precision::F32);
  nlohmann::ordered_json document = {
      {"usable", !reason},
      {"reason", reason.value_or("")},
      {"device", facts.name},
      {"devices", facts.count},
      {"compute_capability", std::to_string(facts.major) + "." + std::to_string(facts.minor)},
      {"memory_bytes", facts.memory_bytes},
      {"cuda", cuda::version_text(facts.runtime)},
      {"driver", cuda::version_text(facts.driver)}};
  std::cout << document.dump(2) << '\n';
  return 0;
}

bool all_right(const nlohmann::json& gpus) {
  for (const auto& gpu : gpus) {
    for (const auto& measurement : gpu.at("measurements"))
      if (!measurement.value("right", true)) return false;
  }
  return true;
}

int survey(const Options& options) {
  const nlohmann::json document = cuda::survey_gpus(std::chrono::duration<double>(options.survey_seconds));
  std::cout << document.dump(2) << '\n';
  return all_right(document.at("gpus")) ? 0 : 1;
}

int run(const Options& options) {
  switch (options.command) {
    case Command::Serve:
      return serve(options);
    case Command::Train:
      return train(options);
    case Command::Plan:
      return plan(options);
    case Command::Probe:
      return probe();
    case Command::Machine:
      return survey(options);
    case Command::Version:
      std::cout << cuda::kWorkerName << ' ' << cuda::kWorkerVersion << " (protocol " << protocol::kVersion << ")\n";
      return 0;
    case Command::Help:
      break;
  }
  std::cout << cuda::help_text();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return worker::run_program(cuda::kWorkerName, [&] { return run(cuda::parse_options({argv + 1, argv + argc})); });
}
