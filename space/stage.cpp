#include "space/stage.hpp"

#include <array>

#include "space/names.hpp"

namespace nocturne::space {
namespace {
constexpr std::array<std::string_view, 4> kStages = {"environment", "build", "compile", "run"};
}

std::string_view to_text(Stage stage) {
  return name_of(stage, kStages);
}
std::optional<Stage> stage_from_text(std::string_view text) {
  return named<Stage>(text, kStages);
}

}  // namespace nocturne::space
