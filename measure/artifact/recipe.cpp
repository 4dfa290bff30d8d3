#include "measure/artifact/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <variant>

#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<BuildParameter, 6> kParameters = {{
    {"compiler", "a C++ compiler on PATH (g++, clang++-19, …) or an absolute path", "which compiler builds and links",
     "Compilers differ in what they vectorise."},
    {"optimisation", "O0, O1, O2, O3, Os, Ofast", "-O…", "How hard the compiler works. Ofast includes fast_math."},
    {"march", "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, native, or a CPU the compiler knows", "-march=…",
     "Which instructions the compiler may use. `native` is spelled out in the key, so another CPU never shares the "
     "build."},
    {"lto", "true, false", "-flto", "Optimises across source files when linking."},
    {"fast_math", "true, false", "-ffast-math",
     "Lets the compiler reorder floating-point operations; denormal numbers become zero in the whole process."},
    {"extra_flags", "flags separated by spaces", "themselves",
     "More flags for the compiler, for each file and the link."},
}};

constexpr std::array<std::string_view, 6> kOptimisations = {"O0", "O1", "O2", "O3", "Os", "Ofast"};
constexpr std::array<std::string_view, 3> kUses = {"nlohmann-json", "onednn", "threads"};

const BuildParameter& row(std::string_view name) {
  return *std::ranges::find(kParameters, name, &BuildParameter::name);
}

std::unexpected<std::string> refuse(std::string_view name, const space::Value& value) {
  return std::unexpected(fmt::format("{} is '{}'; allowed: {}", name, space::to_text(value), row(name).values));
}

/// Flags go to the compiler as arguments, never through a shell; still no white space, so that one value is one flag.
bool is_plain_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isgraph(c) != 0; });
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

/// Reads the recipe's keys; the first thing that is wrong stays in `problem`.
class RecipeReader {
 public:
  explicit RecipeReader(const json& document) : document_(document) {}

  std::string text(const char* key, std::string otherwise) {
    const auto found = document_.find(key);
    if (found == document_.end()) return otherwise;
    if (!found->is_string()) return fail(key, "must be a string"), otherwise;
    return found->get<std::string>();
  }

  int number(const char* key, int otherwise) {
    const auto found = document_.find(key);
    if (found == document_.end()) return otherwise;
    if (!found->is_number_integer()) return fail(key, "must be a whole number"), otherwise;
    return found->get<int>();
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> result;
    const auto found = document_.find(key);
    if (found == document_.end()) return result;
    if (!found->is_array()) return fail(key, "must be an array of strings"), result;
    for (const json& element : *found) {
      if (!element.is_string()) return fail(key, "must be an array of strings"), result;
      result.push_back(element.get<std::string>());
    }
    return result;
  }

  std::vector<fs::path> paths(const char* key) {
    std::vector<fs::path> result;
    for (const std::string& entry : texts(key)) {
      const fs::path path = fs::path(entry).lexically_normal();
      if (entry.empty() || path.is_absolute() || *path.begin() == "..")
        fail(key, fmt::format("'{}' must be a path below the source root", entry));
      result.push_back(path);
    }
    return result;
  }

  void fail(std::string_view key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} {}", key, what);
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json& document_;
  std::string problem_;
};

}  // namespace

std::expected<BuildRecipe, std::string> build_recipe_from_json(const json& document, const fs::path& source_root) {
  if (!document.is_object()) return std::unexpected("a build recipe is a JSON object");
  constexpr std::array<std::string_view, 10> kKeys = {"name",  "sources",   "include", "standard", "defines",
                                                      "flags", "libraries", "uses",    "together", "comment"};
  for (const auto& [key, value] : document.items())
    if (std::ranges::find(kKeys, key) == kKeys.end()) return std::unexpected(fmt::format("unknown key '{}'", key));
  RecipeReader reader(document);
  BuildRecipe recipe;
  recipe.source_root = source_root;
  recipe.name = reader.text("name", "");
  recipe.sources = reader.paths("sources");
  recipe.include = reader.paths("include");
  recipe.standard = reader.text("standard", recipe.standard);
  recipe.defines = reader.texts("defines");
  recipe.libraries = reader.texts("libraries");
  recipe.flags = reader.texts("flags");
  recipe.uses = reader.texts("uses");
  recipe.together = reader.number("together", recipe.together);
  if (recipe.name.empty() || recipe.name.contains('/') || recipe.name.starts_with('.'))
    reader.fail("name", "must be the file name of the program");
  if (recipe.sources.empty()) reader.fail("sources", "must name at least one file");
  if (recipe.together < 1) reader.fail("together", "must be 1 or more");
  for (const std::string& used : recipe.uses)
    if (std::ranges::find(kUses, used) == kUses.end())
      reader.fail("uses", fmt::format("'{}' is not known; known are nlohmann-json, onednn and threads", used));
  if (!reader.problem().empty()) return std::unexpected(reader.problem());
  return recipe;
}

std::expected<BuildRecipe, std::string> load_build_recipe(const fs::path& file, const fs::path& source_root) {
  const auto text = space::read_file(file);
  if (!text) return std::unexpected(fmt::format("{} cannot be read", file.string()));
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (document.is_discarded()) return std::unexpected(fmt::format("{} is not JSON", file.string()));
  auto recipe = build_recipe_from_json(document, source_root);
  if (!recipe) return std::unexpected(fmt::format("{}: {}", file.string(), recipe.error()));
  return recipe;
}

std::span<const BuildParameter> build_parameters() {
  return kParameters;
}

std::expected<BuildFlags, std::string> build_flags(const space::Configuration& configuration) {
  BuildFlags flags;
  for (const auto& [name, target] :
       {std::pair{"compiler", &flags.compiler}, std::pair{"optimisation", &flags.optimisation},
        std::pair{"march", &flags.march}}) {
    const space::Value* value = configuration.find(name);
    if (value == nullptr) continue;
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr || !is_plain_word(*text)) return refuse(name, *value);
    *target = *text;
  }
  if (std::ranges::find(kOptimisations, flags.optimisation) == kOptimisations.end())
    return refuse("optimisation", flags.optimisation);
  for (const auto& [name, target] : {std::pair{"lto", &flags.lto}, std::pair{"fast_math", &flags.fast_math}}) {
    const space::Value* value = configuration.find(name);
    if (value == nullptr) continue;
    const auto* flag = std::get_if<bool>(value);
    if (flag == nullptr) return refuse(name, *value);
    *target = *flag;
  }
  if (const space::Value* value = configuration.find("extra_flags")) {
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) return refuse("extra_flags", *value);
    for (const std::string& word : split(*text))
      if (!is_plain_word(word) || word.front() != '-' || word.starts_with("-o")) return refuse("extra_flags", *value);
    flags.extra_flags = *text;
  }
  return flags;
}

std::vector<std::string> compile_arguments(const BuildFlags& flags) {
  std::vector<std::string> arguments = {"-" + flags.optimisation};
  if (!flags.march.empty()) arguments.push_back("-march=" + flags.march);
  if (flags.lto) arguments.emplace_back("-flto");
  if (flags.fast_math) arguments.emplace_back("-ffast-math");
  for (std::string& word : split(flags.extra_flags)) arguments.push_back(std::move(word));
  return arguments;
}

std::optional<space::Value> shipped_value(std::string_view parameter) {
  const BuildFlags shipped;
  if (parameter == "compiler") return shipped.compiler;
  if (parameter == "optimisation") return shipped.optimisation;
  if (parameter == "march") return std::string("x86-64");  // which compilers take by themselves there
  if (parameter == "lto") return shipped.lto;
  if (parameter == "fast_math") return shipped.fast_math;
  if (parameter == "extra_flags") return shipped.extra_flags;
  return std::nullopt;
}

std::string to_text(const BuildFlags& flags) {
  std::string text = flags.compiler;
  for (const std::string& argument : compile_arguments(flags)) text += ' ' + argument;
  return text;
}

}  // namespace nocturne::measure
