#include "measure/environment/recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "measure/environment/python_finder.hpp"
#include "measure/environment/requirement.hpp"
#include "space/nearest.hpp"

namespace nocturne::measure {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 17> kRecipeKeys = {
    "recipe", "title",   "kind",    "worker",  "python",      "source",  "packages",    "no_dependencies", "note",
    "needs",  "fix_ups", "imports", "$schema", "environment", "licence", "download_mb", "disk_mb"};
constexpr std::array<std::string_view, 4> kSources = {"pip", "distribution", "opt-build", "image"};
constexpr std::int64_t kMegabyte = 1'000'000;
constexpr std::int64_t kMostMegabytes = 1'000'000;  // a terabyte: more is a typing error
constexpr std::size_t kLongestName = 64;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// One component of a path that is neither hidden nor an option: letters, digits and "._-+" after the first.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text,
                             [](char c) { return is_letter_or_digit(c) || std::string_view("._-+").contains(c); });
}

/// A dotted name of Python, or with `dots` false the name of a variable or a program of ours.
bool is_identifier(std::string_view text, bool dots) {
  bool at_start = true;
  for (const char c : text) {
    if (c == '.' && dots && !at_start) {
      at_start = true;
      continue;
    }
    if (c != '_' && !(at_start ? std::isalpha(static_cast<unsigned char>(c)) != 0 : is_letter_or_digit(c)))
      return false;
    at_start = false;
  }
  return !at_start;
}

/// Reads members of the document; what is wrong first stays in problem().
class RecipeMembers {
 public:
  explicit RecipeMembers(const json& document) : document_(document) {}

  std::string text(const char* key, std::string otherwise) {
    const auto found = document_.find(key);
    if (found == document_.end()) return otherwise;
    if (found->is_string()) return found->get<std::string>();
    fail(std::string("/") + key, fmt::format("is {}, not a string", found->dump()));
    return otherwise;
  }

  std::int64_t bytes(const char* key) {
    const auto found = document_.find(key);
    if (found == document_.end()) return 0;
    const bool whole = found->is_number_integer();
    const std::int64_t megabytes = whole ? found->get<std::int64_t>() : 0;
    if (whole && megabytes >= 0 && megabytes <= kMostMegabytes) return megabytes * kMegabyte;
    fail(std::string("/") + key,
         fmt::format("is {}, not a number of megabytes from 0 to {}", found->dump(), kMostMegabytes));
    return 0;
  }

  /// An array of strings of which each passes `good`; `what` says what is allowed.
  template <typename Predicate>
  std::vector<std::string> texts(const json& array, const std::string& pointer, const Predicate& good,
                                 std::string_view what) {
    std::vector<std::string> result;
    if (!array.is_array()) {
      fail(pointer, fmt::format("is {}, not an array of strings", array.dump()));
      return result;
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (!array[i].is_string() || !good(array[i].get_ref<const std::string&>())) {
        fail(fmt::format("{}/{}", pointer, i), fmt::format("is {}, not {}", array[i].dump(), what));
      } else {
        result.push_back(array[i].get<std::string>());
      }
    }
    return result;
  }

  [[nodiscard]] const json& member(const char* key) const {
    static const json nothing = json::array();
    const auto found = document_.find(key);
    return found == document_.end() ? nothing : *found;
  }

  void fail(const std::string& pointer, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} {}", pointer, what);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json& document_;
  std::string problem_;
};

void read_kind(RecipeMembers& members, EnvironmentRecipe& recipe) {
  const std::string kind = members.text("kind", "python");
  if (kind == "python") {
    recipe.kind = RecipeKind::Python;
  } else if (kind == "native") {
    recipe.kind = RecipeKind::Native;
  } else if (kind == "command") {
    recipe.kind = RecipeKind::Command;
  } else {
    members.fail("/kind", fmt::format("is '{}'; allowed: python, native, command", kind));
  }
}

void read_steps(RecipeMembers& members, EnvironmentRecipe& recipe) {
  const json& packages = members.member("packages");
  if (!packages.is_array()) return members.fail("/packages", "is not an array of arrays, one a step of installation");
  for (std::size_t i = 0; i < packages.size(); ++i) {
    EnvironmentRecipe::Step step;
    const std::string pointer = fmt::format("/packages/{}", i);
    step.packages = members.texts(packages[i], pointer, is_plain_requirement,
                                  "a plain requirement such as 'torch==1.4.0' or 'numpy>=1.16,<1.20'; options, paths, "
                                  "addresses and markers are refused");
    if (packages[i].is_array() && packages[i].empty()) members.fail(pointer, "is empty");
    recipe.steps.push_back(std::move(step));
  }
  const json& alone = members.member("no_dependencies");
  if (!alone.is_array() || alone.size() > packages.size()) {
    return members.fail("/no_dependencies", "is not an array of true and false, at most one a step of 'packages'");
  }
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (!alone[i].is_boolean()) return members.fail(fmt::format("/no_dependencies/{}", i), "is neither true nor false");
    recipe.steps[i].no_dependencies = alone[i].get<bool>();
  }
}

void read_needs(RecipeMembers& members, const json& document, EnvironmentRecipe& recipe) {
  const auto needs = document.find("needs");
  if (needs == document.end()) return;
  if (!needs->is_object()) return members.fail("/needs", "is not an object with 'commands' and 'isa'");
  for (const auto& [key, value] : needs->items()) {
    if (key == "commands") {
      recipe.needed_commands = members.texts(value, "/needs/commands", is_plain_name, "the name of a program");
    } else if (key == "isa") {
      recipe.needed_isa = members.texts(value, "/needs/isa", is_plain_name, "the name of a processor's feature");
    } else {
      members.fail("/needs/" + key, "is not known; allowed: commands, isa");
    }
  }
}

void read_environment(RecipeMembers& members, const json& document, EnvironmentRecipe& recipe) {
  const auto variables = document.find("environment");
  if (variables == document.end()) return;
  if (!variables->is_object()) return members.fail("/environment", "is not an object of names and strings");
  for (const auto& [name, value] : variables->items()) {
    if (!is_identifier(name, false)) {
      members.fail("/environment/" + name, "is no name of a variable: letters, digits and _");
    } else if (!value.is_string() || value.get_ref<const std::string&>().contains('\0')) {
      members.fail("/environment/" + name, fmt::format("is {}, not a string", value.dump()));
    } else {
      recipe.environment[name] = value.get<std::string>();
    }
  }
}

void check_keys(RecipeMembers& members, const json& document) {
  const std::vector<std::string> known(kRecipeKeys.begin(), kRecipeKeys.end());
  for (const auto& [key, value] : document.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    members.fail("/" + key, "is not known" + space::did_you_mean(key, known));
  }
}

/// What must be there for the kind it is.
void check_kind(RecipeMembers& members, const EnvironmentRecipe& recipe) {
  if (recipe.kind != RecipeKind::Python) return;
  if (!is_plain_name(recipe.worker) || !recipe.worker.ends_with(".py")) {
    members.fail("/worker", fmt::format("is '{}', not the name of a file below kernels/python, such as "
                                        "'pytorch_worker.py'",
                                        recipe.worker));
  }
  if (recipe.source == "pip" && recipe.steps.empty()) members.fail("/packages", "is missing: what is to be installed?");
}

}  // namespace

std::expected<EnvironmentRecipe, std::string> parse_recipe(const json& document, const std::string& name) {
  if (!is_plain_name(name)) {
    return std::unexpected(
        fmt::format("'{}' cannot be the name of a recipe: letters, digits and ._-+, the first a "
                    "letter or digit, at most {}",
                    name, kLongestName));
  }
  if (!document.is_object()) return std::unexpected("a recipe is a JSON object");
  RecipeMembers members(document);
  EnvironmentRecipe recipe;
  recipe.document = document;
  recipe.name = name;
  if (const std::string stated = members.text("recipe", name); stated != name) {
    members.fail("/recipe", fmt::format("is '{}', but the file is called '{}.json'", stated, name));
  }
  read_kind(members, recipe);
  if (recipe.kind != RecipeKind::Command) check_keys(members, document);  // a command's are read by who runs it
  recipe.title = members.text("title", name);
  recipe.worker = members.text("worker", "");
  recipe.python = members.text("python", "");
  if (const auto known = satisfies({.major = 3, .minor = 6}, recipe.python); !known)
    members.fail("/python", known.error());
  recipe.source = members.text("source", recipe.source);
  if (std::ranges::find(kSources, recipe.source) == kSources.end()) {
    members.fail("/source", fmt::format("is '{}'; allowed: {}", recipe.source, fmt::join(kSources, ", ")));
  }
  read_steps(members, recipe);
  recipe.fix_ups = members.texts(
      members.member("fix_ups"), "/fix_ups",
      [](const std::string& text) { return !text.starts_with('_') && is_identifier(text, false); },
      "the name of a program of measure/environment/fix_ups, without .py");
  recipe.imports = members.texts(
      members.member("imports"), "/imports", [](const std::string& text) { return is_identifier(text, true); },
      "a module's name");
  read_needs(members, document, recipe);
  read_environment(members, document, recipe);
  recipe.licence = members.text("licence", "");
  recipe.note = members.text("note", "");
  recipe.download_bytes = members.bytes("download_mb");
  recipe.disk_bytes = members.bytes("disk_mb");
  check_kind(members, recipe);
  if (!members.problem().empty()) return std::unexpected(members.problem());
  return recipe;
}

}  // namespace nocturne::measure
