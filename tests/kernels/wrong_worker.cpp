/// The worker with an error planted in it, for campaigns whose gate must find it:
///   nocturne-onednn-wrong --plant NAME --request REQUEST.json --events EVENTS.jsonl

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "kernels/onednn/session.hpp"
#include "tests/kernels/planted_error.hpp"

namespace {

int serve(int argc, char** argv) {
  std::string plant, request_file, events_file;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--plant") plant = argv[i + 1];
    if (option == "--request") request_file = argv[i + 1];
    if (option == "--events") events_file = argv[i + 1];
  }
  std::ifstream file(request_file);
  if (!file) throw std::runtime_error("request: " + request_file + " cannot be opened");
  const auto request = nocturne::protocol::parse_request(nlohmann::json::parse(file));
  using namespace nocturne;
  worker::ProtocolReporter reporter(events_file, onednn::kWorkerName, onednn::kWorkerVersion);
  return onednn::run_request(request, reporter, nullptr, test::planted(plant));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nocturne-onednn-wrong: %s\n", error.what());
    for (const auto& each : nocturne::test::planted_errors())
      std::fprintf(stderr, "  --plant %s: %s\n", std::string(each.name).c_str(), std::string(each.explanation).c_str());
    return 1;
  }
}
