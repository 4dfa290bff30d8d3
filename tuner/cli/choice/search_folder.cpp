#include "tuner/cli/choice/search_folder.hpp"

#include <chrono>
#include <ostream>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "space/file_contents.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::cli {
namespace {

// A proposal takes milliseconds: who waits longer waits for a session that is left open.
constexpr std::chrono::seconds kBusyPatience{30};

/// Asking the machine takes a moment: only a file that names it gets an answer.
space::Facts facts_for(const std::string& file) {
  const auto text = space::read_file(file);
  if (!text || !text->contains("machine.")) return {};
  const measure::MachineRoots roots = tuner::find_installation().machine_roots();
  return measure::facts_of(measure::probe_machine(roots));
}

tuner::SpaceFile read_space_file(const Context& context, const std::string& file) {
  return value_or_refuse(context, tuner::load_space_file(file, facts_for(file)));
}

}  // namespace

std::unique_ptr<tuner::AskTell> open_search(const Context& context, const std::string& folder,
                                            const std::string& file) {
  std::optional<tuner::SpaceFile> space;
  if (!file.empty()) space = read_space_file(context, file);
  auto opened = tuner::AskTell::open(folder, space ? &*space : nullptr, kBusyPatience);
  if (opened) return *std::move(opened);
  using Refused = tuner::AskTell::Refused;
  const auto code = opened.error().kind == Refused::NoSearch     ? ExitCode::NotFound
                    : opened.error().kind == Refused::OtherSpace ? ExitCode::Usage
                                                                 : ExitCode::Unavailable;
  refuse(context, code, opened.error().sentence);
}

nlohmann::json asked_json(const db::AskAnswer& asked) {
  return {{"number", asked.number}, {"configuration", asked.configuration.to_json()}, {"reason", asked.reason}};
}

nlohmann::json best_json(const tuner::SearchStanding& standing) {
  if (!standing.best) return nullptr;
  const space::Trial& best = *standing.best;
  return {{"number", best.number},
          {"configuration", best.configuration.to_json()},
          {"value", best.estimate->value},
          {"standard_error", best.estimate->standard_error},
          {"runs", best.estimate->runs}};
}

nlohmann::json standing_json(const tuner::SearchStanding& standing) {
  return {{"finished", standing.finished},
          {"failed", standing.failed},
          {"pending", standing.pending},
          {"best", best_json(standing)}};
}

void print_line(const Context& context, const nlohmann::json& document) {
  context.verbatim() << document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace nocturne::cli
