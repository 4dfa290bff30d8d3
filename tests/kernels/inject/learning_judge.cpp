/// What the engine says of recorded learning, for learning_table.py: judges standard input, a JSON object
///
///   {"arithmetic": "rounding" or "precision", "starts": [record of the reference, again, ...], "start": record,
///    "references": [record of a longer run, ...], "longer": record or null}
///
/// with records as kernels/inject/nocturne_inject/learning.py writes them, and prints, a JSON object too, the verdict
/// and the sentence of the start, of the longer run, and of both.

#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/gate/learning.hpp"

namespace {

using nlohmann::json;
using namespace nocturne::measure;

LearningRecord record_of(const json& document) {
  auto record = read_learning(document);
  if (!record) throw std::runtime_error(record.error());
  return *std::move(record);
}

std::vector<LearningRecord> records_of(const json& documents) {
  std::vector<LearningRecord> records;
  for (const json& each : documents) records.push_back(record_of(each));
  return records;
}

json shown(const LearningJudgement& judgement) {
  return {{"verdict", to_text(judgement.learning)}, {"sentence", judgement.sentence}};
}

json judged(const json& asked) {
  const auto starts = records_of(asked.at("starts"));
  const Arithmetic arithmetic = asked.at("arithmetic") == "precision" ? Arithmetic::Precision : Arithmetic::Rounding;
  const LearningJudgement start =
      judge_start(starts.at(0), std::span(starts).subspan(1), record_of(asked.at("start")), arithmetic);
  LearningJudgement longer{.learning = Learning::NotJudged, .sentence = "not run"};
  if (!asked.at("longer").is_null())
    longer = judge_longer_run(records_of(asked.at("references")), record_of(asked.at("longer")));
  return {{"start", shown(start)}, {"longer", shown(longer)}, {"both", shown(joined(start, longer))}};
}

}  // namespace

int main() {
  try {
    std::cout << judged(json::parse(std::cin)).dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nocturne-learning-judge: %s\n", error.what());
    return 2;
  }
}
