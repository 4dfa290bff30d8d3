#include "measure/run/run_files.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace nocturne::measure {
namespace {

std::string text_of(const protocol::Request& request) {
  return protocol::to_json(request).dump(1) + '\n';
}

}  // namespace

std::expected<RunFolder, std::string> prepare_folder(const RunPlan& plan) {
  auto folder = RunFolder::make(plan.folder);
  if (!folder) return folder;
  protocol::Request request = plan.request;
  request.run_id = plan.id;
  std::expected<void, std::string> done;
  if (!plan.owner.empty()) done = folder->write(kOwnerFile, plan.owner);
  if (done) done = folder->write(kRequestFile, text_of(request));
  if (done && request.turns) {
    done = folder->make_fifo(kTurnsFile);
    request.turns.reset();
    if (done) done = folder->write(kAloneRequestFile, text_of(request));
  }
  if (!done) return std::unexpected(fmt::format("{}: {}", plan.folder.string(), done.error()));
  return folder;
}

}  // namespace nocturne::measure
