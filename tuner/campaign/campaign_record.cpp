#include "tuner/campaign/campaign_record.hpp"

#include <fmt/format.h>

#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/stored_space.hpp"

namespace nocturne::tuner {

db::CampaignRecord present_record(const Session& session, bool fresh) {
  const CampaignSpec& spec = session.spec;
  db::CampaignRecord record{
      .name = spec.name,
      .identity = spec.identity(),
      .spec = spec.document,
      .strategy = spec.strategy.name,
      .seed = static_cast<std::int64_t>(spec.strategy.seed),
      .fingerprint = {.hash = session.fingerprint.identity(), .fields = session.fingerprint.to_json()},
      .parameters = parameter_records(spec.space),
      .fresh = fresh};
  const auto changed = machine_changes(session.store, spec.name, session.fingerprint);
  if (!changed.empty() && !fresh) {
    record.fresh = true;
    session.observer.note(fmt::format("{}: results from before do not hold, a new generation begins", changed));
  }
  return record;
}

}  // namespace nocturne::tuner
