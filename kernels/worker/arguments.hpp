#pragma once

/// The words of a worker's command line: flags, options with a value, and what is wrong with them.

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

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

}  // namespace nocturne::worker
