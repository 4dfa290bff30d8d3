#include "space/outcome.hpp"

#include <array>

#include "space/names.hpp"

namespace nocturne::space {
namespace {
constexpr std::array<std::string_view, 11> kOutcomes = {
    "ok",       "unsupported",    "build_failed", "failed", "crashed", "timeout", "out_of_memory",
    "diverged", "protocol_error", "killed",       "wrong"};
constexpr std::array<std::string_view, 4> kPurposes = {"search", "audit", "verify", "gate"};
}  // namespace

std::string_view to_text(Outcome outcome) {
  return name_of(outcome, kOutcomes);
}
std::optional<Outcome> outcome_from_text(std::string_view text) {
  return named<Outcome>(text, kOutcomes);
}

std::string_view to_text(Purpose purpose) {
  return name_of(purpose, kPurposes);
}
std::optional<Purpose> purpose_from_text(std::string_view text) {
  return named<Purpose>(text, kPurposes);
}

}  // namespace nocturne::space
