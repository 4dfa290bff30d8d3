/// nocturne-onednn: the CPU worker. help_text() in options.cpp is its manual.

#include <iostream>
#include <string>
#include <vector>

#include "kernels/onednn/check/check_gradients.hpp"
#include "kernels/onednn/describe.hpp"
#include "kernels/onednn/options.hpp"
#include "kernels/onednn/profile.hpp"
#include "kernels/onednn/session.hpp"
#include "kernels/onednn/settings.hpp"
#include "kernels/worker/arguments.hpp"

namespace {

using namespace nocturne;
using onednn::Command;
using onednn::Options;

int serve(const Options& options) {
  worker::ProtocolReporter reporter(options.events_path, onednn::kWorkerName, onednn::kWorkerVersion);
  return worker::serve(options.request_path, reporter,
                       [&](const protocol::Request& request) { return onednn::run_request(request, reporter); });
}

int train(const Options& options) {
  worker::ConsoleReporter reporter;
  onednn::Profile profile;
  const int code = onednn::run_request(options.request, reporter, options.profile ? &profile : nullptr);
  if (options.profile) onednn::print_profile(profile, options.peak_gflops, std::cout);
  return code;
}

int check_gradients(const protocol::Request& request) {
  const networks::Network& network = networks::find_network(request.network);
  const bool large = network.image.elements() > 10'000;  // the reference would take minutes
  nlohmann::json configuration = request.configuration;
  if (!configuration.contains("batch")) configuration["batch"] = large ? 2 : 16;
  const onednn::CheckOptions options{
      .settings = onednn::read_settings(configuration), .seed = request.seed, .tamper = {}};
  return onednn::check_gradients(network, options, std::cout);
}

int run(const Options& options) {
  switch (options.command) {
    case Command::Serve:
      return serve(options);
    case Command::Train:
      return train(options);
    case Command::Describe:
      std::cout << onednn::describe(networks::find_network(options.request.network)).dump(2) << '\n';
      return 0;
    case Command::CheckGradients:
      return check_gradients(options.request);
    case Command::Version:
      std::cout << onednn::kWorkerName << ' ' << onednn::kWorkerVersion << " (protocol " << protocol::kVersion << ")\n";
      return 0;
    case Command::Help:
      break;
  }
  std::cout << onednn::help_text();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return worker::run_program(onednn::kWorkerName, [&] { return run(onednn::parse_options({argv + 1, argv + argc})); });
}
