#pragma once

/// The modes of the fake worker that are not simply training.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace nocturne::fake {

struct Settings {
  std::string mode = "obey";
  std::string program;  ///< its own path, to start again
  std::int64_t steps = 0;
  nlohmann::json configuration = nlohmann::json::object();

  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t otherwise) const {
    return configuration.value(key, otherwise);
  }
};

/// Does what the mode says; the exit code, or nothing where the worker should go on and train.
std::optional<int> make_errors(const Settings& settings, const std::string& events_file);

[[noreturn]] void linger();  ///< sleeps for ever, deaf to everything that can be ignored
[[noreturn]] void crash(int signal);

}  // namespace nocturne::fake
