#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/command/command_run.hpp"

int main(int argc, char** argv) {
  using namespace nocturne;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments.front() == "--help") {
    std::fputs(command::kHelp, stdout);
    return 0;
  }
  try {
    const command::Options options = command::read_options(arguments);
    std::ifstream file(options.request, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + options.request);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const protocol::Request request = protocol::parse_request(nlohmann::json::parse(text));
    protocol::EventWriter events(options.events);
    events.hello("command");
    return command::converse(options, request, events);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nocturne-command-worker: %s\n", error.what());
    return 2;
  }
}
