#include "kernels/cuda/settings.hpp"

#include <string>
#include <vector>

#include "kernels/worker/configuration_values.hpp"

namespace nocturne::cuda {
namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::int64_t kLargestWorkspaceMib = 1 << 20;  // beyond a tebibyte is a slip of the pen

constexpr std::int64_t kMostThreads = 1024, kMostPrefetch = 1024;

// The enumeration's value whose word stands there; its words, in order, are asked for one by one.
template <typename Choice>
Choice choice_of(const nlohmann::json& configuration, const char* key, int count, Choice otherwise) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.emplace_back(to_text(static_cast<Choice>(i)));
  return static_cast<Choice>(worker::read_choice(configuration, key, words, static_cast<std::size_t>(otherwise)));
}

}  // namespace

Settings read_settings(const nlohmann::json& configuration) {
  Settings settings;
  settings.precision = choice_of(configuration, "precision", 4, settings.precision);
  settings.layout = choice_of(configuration, "layout", 2, settings.layout);
  settings.algorithm = choice_of(configuration, "algorithm", 3, settings.algorithm);
  settings.workspace_mib =
      worker::read_integer(configuration, "workspace_mib", settings.workspace_mib, kLargestWorkspaceMib);
  settings.fusion = choice_of(configuration, "fusion", 2, settings.fusion);
  settings.cuda_graphs = worker::read_flag(configuration, "cuda_graphs", settings.cuda_graphs);
  settings.streams = static_cast<int>(worker::read_integer(configuration, "streams", settings.streams, 2));
  settings.batch = worker::read_integer(configuration, "batch", settings.batch, kLargestBatch);
  settings.data_threads = static_cast<int>(worker::read_integer(configuration, "data_threads", 0, kMostThreads, 0));
  settings.prefetch =
      static_cast<int>(worker::read_integer(configuration, "prefetch", settings.prefetch, kMostPrefetch));
  return settings;
}

}  // namespace nocturne::cuda
