#include "tuner/roofline/programs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/process.hpp"
#include "measure/run/own_program.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kSetUp{120};      // arrays are filled before they are timed, and disks can be slow
constexpr std::chrono::seconds kDescribing{30};  // a library is loaded, nothing is computed
constexpr std::chrono::seconds kGpuMeasuring{60};

std::expected<nlohmann::json, std::string> json_printed_by(const std::vector<std::string>& argv,
                                                           std::chrono::duration<double> limit,
                                                           const std::stop_token& stop) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
  // oneDNN would chat on standard output.
  const measure::Command command{.argv = argv, .unset = {"ONEDNN_VERBOSE", "DNNL_VERBOSE"}};
  const auto printed = measure::command_output(command, deadline, stop);
  const std::string name = fs::path(argv.front()).filename().string();
  if (!printed) return std::unexpected(fmt::format("{}: {}", name, printed.error()));
  auto document = nlohmann::json::parse(*printed, nullptr, false);
  if (!document.is_object()) return std::unexpected(fmt::format("{} printed no JSON object", name));
  return document;
}

bool is_name_of_network(const std::string& name) {
  return !name.empty() && name.size() <= 100 && name.front() != '-' && name.front() != '.' &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

/// The figures of the machine's GPUs. The error is a sentence: why none was measured; empty where nothing speaks for
/// one.
std::expected<nlohmann::json, std::string> gpus_of_machine(const MachineMeasuring& measuring,
                                                           const std::stop_token& stop) {
  const WorkerRecipe* worker = find_worker("cudnn");
  const bool ours = measuring.programs.empty();
  const fs::path program = ours ? find_shipped(*worker) : program_beside(worker->program, measuring.programs);
  if (program.empty()) return std::unexpected(ours && sees_gpu() ? worker_obstacle(*worker) : std::string());
  const auto said = json_printed_by({program.string(), "--machine"}, kGpuMeasuring, stop);
  if (!said) return std::unexpected(said.error());
  const auto gpus = said->find("gpus");
  if (gpus == said->end() || !gpus->is_array())
    return std::unexpected(fmt::format("{} says nothing of GPUs", program.filename().string()));
  const auto reason = said->find("reason");
  if (gpus->empty() && reason != said->end() && reason->is_string()) return std::unexpected(reason->get<std::string>());
  return *gpus;
}

}  // namespace

fs::path program_beside(std::string_view name, const fs::path& folder) {
  const fs::path candidate = folder.empty() ? measure::beside_own_program(name) : folder / name;
  return ::access(candidate.c_str(), X_OK) == 0 ? fs::absolute(candidate) : fs::path();
}

std::expected<nlohmann::json, std::string> measure_machine(const MachineMeasuring& measuring,
                                                           const std::stop_token& stop) {
  const fs::path program = program_beside("nocturne-machine", measuring.programs);
  if (program.empty()) {
    return std::unexpected(
        "the program nocturne-machine is not beside nocturne: build it (cmake --build, target nocturne-machine)");
  }
  const auto waiting = [&](const measure::SlotHolder& holder) {
    if (measuring.waiting) measuring.waiting(holder);
  };
  const auto slot =
      measure::SlotLock::take({.cpus = measuring.cpus}, "machine figures", waiting, stop, measuring.slot_folder);
  if (!slot) return std::unexpected(slot.error().error);
  std::vector<std::string> argv = {program.string(), "--json", "--seconds", fmt::format("{}", measuring.seconds)};
  if (!measuring.disk.empty()) argv.insert(argv.end(), {"--disk", fs::absolute(measuring.disk).string()});
  if (!measuring.only.empty()) argv.insert(argv.end(), {"--only", fmt::format("{}", fmt::join(measuring.only, ","))});
  auto figures = json_printed_by(argv, kSetUp + 2 * std::chrono::duration<double>(measuring.seconds), stop);
  if (!figures || !measuring.only.empty()) return figures;
  if (auto gpus = gpus_of_machine(measuring, stop))
    (*figures)["gpus"] = *std::move(gpus);
  else if (!gpus.error().empty() && measuring.note)
    measuring.note("No GPU was measured: " + gpus.error());
  return figures;
}

std::expected<nlohmann::json, std::string> describe_network(const std::string& network, const fs::path& programs) {
  if (!is_name_of_network(network)) return std::unexpected(fmt::format("'{}' is no name of a network", network));
  const fs::path program = program_beside("nocturne-onednn", programs);
  if (program.empty()) {
    return std::unexpected(fmt::format(
        "what '{}' takes is not known: the program nocturne-onednn, which describes networks, is not beside nocturne",
        network));
  }
  return json_printed_by({program.string(), "--describe", "--network", network}, kDescribing, {});
}

}  // namespace nocturne::tuner
