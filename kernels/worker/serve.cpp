#include "kernels/worker/serve.hpp"

#include <exception>
#include <fstream>
#include <stdexcept>

namespace nocturne::worker {

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
