#include "tuner/campaign_file/checks.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace nocturne::tuner {

void Checks::add(std::string_view pointer, std::string found, std::string allowed, std::string nearest, At at) {
  pointers_.emplace_back(pointer);
  problems_.push_back(problem_at(document_, pointer, at, std::move(found), std::move(allowed), std::move(nearest)));
}

bool Checks::sound(std::string_view pointer) const {
  return std::ranges::none_of(pointers_, [&](std::string_view bad) {
    return bad.starts_with(pointer) && (bad.size() == pointer.size() || bad[pointer.size()] == '/');
  });
}

const nlohmann::json* Checks::get(std::string_view section, std::string_view key) const {
  const std::string pointer = pointer_to(section, key);
  if (!sound(pointer)) return nullptr;
  const nlohmann::json::json_pointer place(pointer);
  return document_.value.contains(place) ? &document_.value.at(place) : nullptr;
}

std::vector<Problem> Checks::take() {
  std::vector<std::string> files;  // in the order in which they first have a problem: the user's own comes first
  for (const Problem& problem : problems_)
    if (std::ranges::find(files, problem.file) == files.end()) files.push_back(problem.file);
  std::ranges::stable_sort(problems_, {}, [&](const Problem& problem) {
    return std::tuple(std::ranges::find(files, problem.file) - files.begin(), problem.line, problem.column);
  });
  return std::move(problems_);
}

}  // namespace nocturne::tuner
