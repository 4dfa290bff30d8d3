#pragma once

/// The words of a worker's command line: flags, options with a value, what is wrong with them, and how a program ends.

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/worker/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::worker {

/// what() says which argument is wrong and what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The value of an option. Throws UsageError where it is no whole number from 0 on.
[[nodiscard]] std::int64_t whole_number(const std::string& option, const std::string& text);

/// Throws UsageError where one of the two files of the protocol is named without the other. Returns whether both are.
bool are_served(const std::string& request_path, const std::string& events_path);

/// What a flag does, and what an option does with its value.
template <typename Options>
using Flags = std::map<std::string, std::function<void(Options&)>>;
template <typename Options>
using Valued =
    std::map<std::string, std::function<void(Options&, const std::string& option, const std::string& value)>>;

/// A worker's own options with those that every native worker has: the two files of the protocol, and of a training by
/// hand its network, seed and length. REQUIRES: Options has request_path, events_path, and a protocol::Request request.
template <typename Options>
[[nodiscard]] Valued<Options> with_training_options(Valued<Options> own) {
  using O = Options;
  using S = const std::string;
  own.insert({
      {"--request", [](O& o, S&, S& value) { o.request_path = value; }},
      {"--events", [](O& o, S&, S& value) { o.events_path = value; }},
      {"--network", [](O& o, S&, S& value) { o.request.network = value; }},
      {"--seed", [](O& o, S& name, S& v) { o.request.seed = static_cast<std::uint64_t>(whole_number(name, v)); }},
      {"--steps", [](O& o, S& name, S& value) { o.request.steps = whole_number(name, value), o.request.epochs = 0; }},
      {"--epochs", [](O& o, S& name, S& value) { o.request.epochs = whole_number(name, value); }},
  });
  return own;
}

/// Takes the arguments in their order; of two for the same thing the later counts. Throws UsageError, and what the
/// functions throw.
template <typename Options>
void read_arguments(const std::vector<std::string>& arguments, Options& options, const Flags<Options>& flags,
                    const Valued<Options>& valued) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (const auto flag = flags.find(argument); flag != flags.end()) {
      flag->second(options);
      continue;
    }
    const auto option = valued.find(argument);
    if (option == valued.end()) throw UsageError("unknown argument '" + argument + "'; --help lists them");
    if (++i == arguments.size()) throw UsageError(argument + ": its value is missing");
    option->second(options, argument, arguments[i]);
  }
}

/// Returns what `program` returns, the exit code. What it throws goes to stderr behind `name`: then it is 2 for a
/// UsageError, 1 for any other std::exception.
[[nodiscard]] int run_program(const char* name, const std::function<int()>& program);

// How a worker begins that was started with a request: it is read, or the events say why it could not be.

/// Reads the file and hands the request on; returns what `train` returns, the exit code. Where there is no request to
/// be read, the events are hello and end (failed, with the reason), and it returns 1.
[[nodiscard]] int serve(const std::string& request_path, Reporter& reporter,
                        const std::function<int(const protocol::Request&)>& train);

}  // namespace nocturne::worker
