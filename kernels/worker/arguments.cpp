#include "kernels/worker/arguments.hpp"

#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>

namespace nocturne::worker {

std::int64_t whole_number(const std::string& option, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw UsageError(option + " " + text + ": a whole number is expected");
  return value;
}

bool are_served(const std::string& request_path, const std::string& events_path) {
  if (request_path.empty() != events_path.empty()) throw UsageError("--request and --events belong together");
  return !request_path.empty();
}

int run_program(const char* name, const std::function<int()>& program) {
  try {
    return program();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

int serve(const std::string& request_path, Reporter& reporter,
          const std::function<int(const protocol::Request&)>& train) {
  protocol::Request request;
  try {
    std::ifstream file(request_path);
    if (!file) throw std::runtime_error("request: " + request_path + " cannot be opened");
    request = protocol::parse_request(nlohmann::json::parse(file));
  } catch (const std::exception& error) {
    reporter.hello();
    reporter.end("failed", error.what());
    return 1;
  }
  return train(request);
}

}  // namespace nocturne::worker
