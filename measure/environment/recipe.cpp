#include "measure/environment/recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "measure/environment/python_finder.hpp"
#include "measure/environment/requirement.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "space/nearest.hpp"

namespace nocturne::measure {
namespace {

using nlohmann::json;
constexpr std::array<std::string_view, 26> kRecipeKeys = {"recipe",
                                                          "title",
                                                          "kind",
                                                          "worker",
                                                          "python",
                                                          "source",
                                                          "packages",
                                                          "no_dependencies",
                                                          "note",
                                                          "needs",
                                                          "fix_ups",
                                                          "imports",
                                                          "$schema",
                                                          "licence",
                                                          "download_mb",
                                                          "disk_mb",
                                                          "debian",
                                                          "build",
                                                          "image",
                                                          "command",
                                                          "interpreter",
                                                          "environment",
                                                          "uses_system_packages",
                                                          "graph_compilers",
                                                          "labels",
                                                          "framework"};
constexpr std::array<std::string_view, 5> kSources = {"pip", "distribution", "opt-build", "image", "hub"};
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

  bool flag(const char* key) {
    const auto found = document_.find(key);
    if (found == document_.end()) return false;
    if (!found->is_boolean()) fail(std::string("/") + key, fmt::format("is {}, not true or false", found->dump()));
    return found->is_boolean() && found->get<bool>();
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
    for (std::size_t i = 0; i < array.size(); ++i)
      if (!array[i].is_string() || !good(array[i].get_ref<const std::string&>()))
        fail(fmt::format("{}/{}", pointer, i), fmt::format("is {}, not {}", array[i].dump(), what));
      else
        result.push_back(array[i].get<std::string>());
    return result;
  }

  [[nodiscard]] const json& member(const char* key) const {
    static const json nothing = json::array();
    const auto found = document_.find(key);
    return found == document_.end() ? nothing : *found;
  }

  void fail(const std::string& pointer, std::string_view what) {
    // The first problem is enough: later ones are often its consequences.
    if (problem_.empty()) problem_ = fmt::format("{} {}", pointer, what);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json& document_;
  std::string problem_;
};

void read_kind(RecipeMembers& members, EnvironmentRecipe& recipe) {
  const std::string kind = members.text("kind", "python");
  if (kind == "python")
    recipe.kind = RecipeKind::Python;
  else if (kind == "native")
    recipe.kind = RecipeKind::Native;
  else if (kind == "command")
    recipe.kind = RecipeKind::Command;
  else if (kind == "image")
    recipe.kind = RecipeKind::Image;
  else
    members.fail("/kind", fmt::format("is '{}'; allowed: python, native, command, image", kind));
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
  if (!alone.is_array() || alone.size() > packages.size())
    return members.fail("/no_dependencies", "is not an array of true and false, at most one a step of 'packages'");
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (!alone[i].is_boolean()) return members.fail(fmt::format("/no_dependencies/{}", i), "is neither true nor false");
    recipe.steps[i].no_dependencies = alone[i].get<bool>();
  }
}

void read_needs(RecipeMembers& members, const json& document, EnvironmentRecipe& recipe) {
  const auto needs = document.find("needs");
  if (needs == document.end()) return;
  if (!needs->is_object()) return members.fail("/needs", "is not an object with 'commands', 'isa' and 'gpu'");
  for (const auto& [key, value] : needs->items())
    if (key == "commands")
      recipe.needed_commands = members.texts(value, "/needs/commands", is_plain_name, "the name of a program");
    else if (key == "isa")
      recipe.needed_isa = members.texts(value, "/needs/isa", is_plain_name, "the name of a processor's feature");
    else if (key == "gpu" && value.is_boolean())
      recipe.needs_gpu = value.get<bool>();
    else
      members.fail("/needs/" + key, "is not known; allowed: commands, isa, gpu (true or false)");
}

void read_environment(RecipeMembers& members, const json& document, EnvironmentRecipe& recipe) {
  const auto variables = document.find("environment");
  if (variables == document.end()) return;
  if (!variables->is_object()) return members.fail("/environment", "is not an object of names and strings");
  for (const auto& [name, value] : variables->items())
    if (!is_identifier(name, false))
      members.fail("/environment/" + name, "is no name of a variable: letters, digits and _");
    else if (!value.is_string() || value.get_ref<const std::string&>().contains('\0'))
      members.fail("/environment/" + name, fmt::format("is {}, not a string", value.dump()));
    else
      recipe.environment[name] = value.get<std::string>();
}

/// Debian's policy, 5.6.1; a release is one word of letters.
bool is_package_name(std::string_view text) {
  return text.size() > 1 && is_plain_name(text) && !text.contains('_');
}

/// -DNAME=VALUE without what would end the argument's meaning for CMake.
bool is_cmake_definition(std::string_view text) {
  return text.starts_with("-D") && text.contains('=') && text.size() > 3 && is_letter_or_digit(text[2]) &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c != '\\' && c != '"' && c != '$'; });
}

void read_build(RecipeMembers& members, const json& document, EnvironmentRecipe& recipe) {
  const auto build = document.find("build");
  if (build == document.end()) return;
  if (!build->is_object()) return members.fail("/build", "is not an object with 'package', 'suite' and 'cmake'");
  SourcePackage source;
  for (const auto& [key, value] : build->items())
    if (key == "cmake")
      source.cmake = members.texts(value, "/build/cmake", is_cmake_definition, "a definition such as -DNAME=VALUE");
    else if (key != "package" && key != "suite")
      members.fail("/build/" + key, "is not known; allowed: package, suite, cmake");
    else if (!value.is_string() || !is_package_name(value.get_ref<const std::string&>()))
      members.fail("/build/" + key, fmt::format("is {}, not a name of Debian's", value.dump()));
    else
      (key == "suite" ? source.suite : source.package) = value.get<std::string>();
  if (source.package.empty() || source.suite.empty()) members.fail("/build", "needs 'package' and 'suite'");
  recipe.build = std::move(source);
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
  const bool built_here = recipe.source == "opt-build" && recipe.kind != RecipeKind::Image;
  if (built_here != recipe.build.has_value() || (built_here && recipe.kind != RecipeKind::Native))
    members.fail("/source", "opt-build, the key 'build' and kind native belong together, but for an image");
  if (recipe.source == "hub" && recipe.kind != RecipeKind::Image) members.fail("/source", "hub is an image's");
  if ((recipe.source == "distribution") == recipe.debian.empty())
    members.fail("/debian", "lists the packages of source distribution, and of no other");
  if (recipe.kind != RecipeKind::Command && !recipe.command.is_null())
    members.fail("/command", "belongs to kind command");
  if (recipe.kind == RecipeKind::Command && !recipe.command.is_object())
    members.fail("/command", "is missing: an object with 'template' and 'time', as a campaign's worker has them");
  if (recipe.kind == RecipeKind::Image) {
    if (!is_plain_name(recipe.image)) members.fail("/image", "is not the name of an image's recipe");
    if (!recipe.interpreter.is_absolute() || recipe.interpreter != recipe.interpreter.lexically_normal())
      members.fail("/interpreter", "is not an absolute path, in the image, without '..'");
  }
  if (built_here && recipe.worker.empty())
    members.fail("/worker", "is missing: which of our own workers is built against it?");
  if (recipe.kind != RecipeKind::Python && recipe.kind != RecipeKind::Image) return;
  if (!is_plain_name(recipe.worker) || !recipe.worker.ends_with(".py")) {
    members.fail("/worker", fmt::format("is '{}', not the name of a file below kernels/python, such as "
                                        "'pytorch_worker.py'",
                                        recipe.worker));
  }
  if (recipe.kind == RecipeKind::Python && recipe.source == "pip" && recipe.steps.empty())
    members.fail("/packages", "is missing: what is to be installed?");
}

namespace fs = std::filesystem;

constexpr std::size_t kLongestRecipe = 1 << 20;  // a file of another kind has lost its way here

std::expected<EnvironmentRecipe, std::string> read_recipe(const fs::path& file) {
  const auto text = space::read_file(file, kLongestRecipe + 1);
  if (!text) return std::unexpected("cannot be read");
  if (text->size() > kLongestRecipe) return std::unexpected(fmt::format("is longer than {} bytes", kLongestRecipe));
  json document;
  try {
    document = json::parse(*text, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const json::parse_error& wrong) {
    return std::unexpected(fmt::format("is not JSON: {}", wrong.what()));
  }
  auto recipe = parse_recipe(document, file.stem().string());
  if (recipe) recipe->file = file;
  if (recipe && recipe->kind == RecipeKind::Command && recipe->command.value("folder", json("")).is_string()) {
    std::error_code unresolved;
    // A link to a recipe means the folder that the recipe lies in.
    const fs::path folder = fs::weakly_canonical(file, unresolved).parent_path() / recipe->command.value("folder", "");
    recipe->command["folder"] = folder.lexically_normal().string();
  }
  return recipe;
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
  if (const std::string stated = members.text("recipe", name); stated != name)
    members.fail("/recipe", fmt::format("is '{}', but the file is called '{}.json'", stated, name));
  read_kind(members, recipe);
  check_keys(members, document);
  recipe.title = members.text("title", name);
  recipe.worker = members.text("worker", "");
  recipe.python = members.text("python", "");
  if (const auto known = satisfies({.major = 3, .minor = 6}, recipe.python); !known)
    members.fail("/python", known.error());
  recipe.source = members.text("source", recipe.kind == RecipeKind::Image ? "image" : recipe.source);
  if (std::ranges::find(kSources, recipe.source) == kSources.end())
    members.fail("/source", fmt::format("is '{}'; allowed: {}", recipe.source, fmt::join(kSources, ", ")));
  recipe.framework = members.text("framework", "");
  if (!recipe.framework.empty() && !is_plain_name(recipe.framework)) members.fail("/framework", "is not a plain name");
  read_steps(members, recipe);
  recipe.fix_ups = members.texts(
      members.member("fix_ups"), "/fix_ups",
      [](const std::string& text) { return !text.starts_with('_') && is_identifier(text, false); },
      "the name of a program of measure/environment/fix_ups, without .py");
  recipe.imports = members.texts(
      members.member("imports"), "/imports", [](const std::string& text) { return is_identifier(text, true); },
      "a module's name");
  recipe.debian =
      members.texts(members.member("debian"), "/debian", is_package_name, "the name of a package of the distribution");
  recipe.graph_compilers =
      members.texts(members.member("graph_compilers"), "/graph_compilers", is_plain_name, "a name");
  read_build(members, document, recipe);
  recipe.image = members.text("image", "");
  recipe.interpreter = members.text("interpreter", "/usr/bin/python3");
  recipe.command = document.value("command", json());
  recipe.uses_system_packages = members.flag("uses_system_packages");
  read_needs(members, document, recipe);
  read_environment(members, document, recipe);
  if (document.contains("labels") && !document["labels"].is_object()) members.fail("/labels", "is not an object");
  recipe.licence = members.text("licence", "");
  recipe.note = members.text("note", "");
  recipe.download_bytes = members.bytes("download_mb");
  recipe.disk_bytes = members.bytes("disk_mb");
  check_kind(members, recipe);
  if (!members.problem().empty()) return std::unexpected(members.problem());
  return recipe;
}

std::map<std::string, std::string> variables_of(const EnvironmentRecipe& recipe, const std::filesystem::path& folder) {
  constexpr std::string_view kPlace = "{environment}";
  std::map<std::string, std::string> variables = recipe.environment;
  for (auto& [name, value] : variables) {
    for (std::size_t at = value.find(kPlace); at != std::string::npos; at = value.find(kPlace, at)) {
      value.replace(at, kPlace.size(), folder.string());
      // Behind what was put in: a folder whose name has the place itself would be filled for ever.
      at += folder.string().size();
    }
  }
  return variables;
}

RecipeSet RecipeSet::load(const std::vector<fs::path>& folders) {
  RecipeSet set;
  std::map<std::string, EnvironmentRecipe> found;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : space::entries_of(folder))
      if (entry.path().extension() == ".json" && entry.is_regular_file(error)) files.push_back(entry.path());
    // A folder is listed in the order of its file system: problems shall be told in the same order everywhere.
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      auto recipe = read_recipe(file);
      if (!recipe) {
        // One bad file of the user's must not take the other frameworks away.
        set.problems_.push_back(fmt::format("{}: {}", file.string(), recipe.error()));
      } else {
        std::string name = recipe->name;
        found.try_emplace(std::move(name), std::move(*recipe));  // the first folder's stays
      }
    }
  }
  for (auto& [name, recipe] : found) set.recipes_.push_back(std::move(recipe));
  return set;
}

std::expected<EnvironmentRecipe, std::string> RecipeSet::find(std::string_view name) const {
  const auto found = std::ranges::find(recipes_, name, &EnvironmentRecipe::name);
  if (found != recipes_.end()) return *found;
  std::vector<std::string> names;
  for (const EnvironmentRecipe& recipe : recipes_) names.push_back(recipe.name);
  return std::unexpected(fmt::format("there is no recipe '{}'{}", name, space::did_you_mean(name, names)));
}

}  // namespace nocturne::measure
