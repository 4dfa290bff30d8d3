#include "tuner/campaign/answer/judged_learning.hpp"

namespace nocturne::tuner {
namespace {

constexpr const char* kKey = "learning";  // of a run's `ready`

}  // namespace

void store_judgement(const JudgedLearning& judged, nlohmann::json& ready) {
  if (!ready.is_object()) ready = nlohmann::json::object();
  ready[kKey] = {{"verdict", measure::to_text(judged.learning)}, {"sentence", judged.sentence}};
}

std::optional<JudgedLearning> judged_learning(const db::TrialDetail& trial) {
  std::optional<JudgedLearning> judged;
  for (const db::StoredRun& stored : trial.runs) {
    const space::Run& run = stored.record.run;
    if (run.purpose != space::Purpose::Gate || !run.ready.is_object() || !run.ready.contains(kKey)) continue;
    const nlohmann::json& said = run.ready[kKey];
    if (!said.is_object()) continue;  // a worker's own word
    judged = JudgedLearning{.learning = measure::learning_from_text(said.value("verdict", "")),
                            .sentence = said.value("sentence", "")};
  }
  return judged;
}

}  // namespace nocturne::tuner
