// The actions of `nocturne env` that only look, and `remove`.

#include "tuner/cli/subcommands/env.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <system_error>

#include <fmt/format.h>

#include "measure/container/image_recipe.hpp"
#include "measure/container/image_store.hpp"
#include "space/file_contents.hpp"
#include "space/write_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/registry/labels.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
constexpr int kLockVersion = 1;
constexpr std::size_t kLargestLock = 1 << 20;

std::string about(std::int64_t bytes) {
  return bytes > 0 ? "~" + bytes_text(bytes) : std::string();
}

const char* state_of(const measure::EnvironmentRecipe& recipe, bool installed, const std::string& obstacle) {
  if (installed) return "installed";
  if (!obstacle.empty()) return "not here";
  return recipe.kind == measure::RecipeKind::Command ? "ready" : "available";  // a command is the user's, and there
}

json environment_row(const measure::EnvironmentRecipe& recipe, const std::optional<measure::Environment>& installed,
                     const std::string& obstacle) {
  json row = {{"name", recipe.name},
              {"title", recipe.title},
              {"kind", recipe.document.value("kind", "python")},
              {"source", recipe.source},
              {"state", state_of(recipe, installed.has_value(), obstacle)},
              {"reason", obstacle},
              {"needs_python", recipe.python},
              {"licence", recipe.licence},
              {"labels", tuner::to_json(tuner::labels_of(recipe))},
              {"download_bytes", recipe.download_bytes},
              {"disk_bytes", installed ? static_cast<std::int64_t>(installed->bytes) : recipe.disk_bytes}};
  if (installed) {
    row["python"] = measure::to_text(installed->interpreter.version);
    row["folder"] = installed->folder.string();
    row["key"] = installed->key;
    row["packages"] = installed->lock;
  }
  return row;
}

struct ListedImage {
  measure::ImageRecipe recipe;
  std::optional<measure::StoredImage> made;
  std::string obstacle;
};

/// The shipped ones and the user's, and what was made of them. Makes nothing.
std::vector<ListedImage> images_here(const Context& context) {
  std::vector<measure::StoredImage> made;
  std::error_code ignored;
  if (std::filesystem::is_directory(context.images_folder(), ignored))
    made = measure::ImageStore(context.images_folder()).list();
  const std::filesystem::path shipped = tuner::find_installation().source_root / "measure" / "container" / "images";
  std::vector<ListedImage> images;
  for (measure::ImageRecipe& recipe : measure::known_images({context.image_recipes_folder(), shipped})) {
    const auto found = std::ranges::find(made, recipe.name, &measure::StoredImage::name);
    ListedImage image{.recipe = std::move(recipe), .made = {}, .obstacle = {}};
    if (found != made.end())
      image.made = *found;
    else
      image.obstacle = measure::obstacle_of(image.recipe);
    images.push_back(std::move(image));
  }
  return images;
}

void list_images(const Context& context, json& document, Table& table) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  for (const ListedImage& image : images_here(context)) {
    const measure::ImageRecipe& recipe = image.recipe;
    const char* state = image.made ? "made" : image.obstacle.empty() ? "available" : "not here";
    const std::int64_t bytes = image.made ? static_cast<std::int64_t>(image.made->bytes) : recipe.disk_mb * kMegabyte;
    document.push_back({{"name", recipe.name},
                        {"title", recipe.title},
                        {"state", state},
                        {"reason", image.obstacle},
                        {"disk_bytes", bytes},
                        {"digest", image.made ? image.made->digest : ""}});
    table.add({Cell(recipe.name, Style::Strong),
               image.made               ? Cell(state, Style::Good)
               : image.obstacle.empty() ? Cell(state)
                                        : Cell(state, Style::Faint),
               image.made ? bytes_text(bytes) : about(bytes), image.obstacle.empty() ? recipe.title : image.obstacle});
  }
}

/// Says of each name whether it went; adds that to the document.
void tell_removed(const Context& context, json& document, const std::string& name, bool removed,
                  std::string_view why_not) {
  document.push_back({{"name", name}, {"removed", removed}});
  if (context.json) return;
  *(removed ? context.out : context.err) << fmt::format("{}: {}\n", name, removed ? "removed" : why_not);
}

}  // namespace

bool is_made_image(const std::string& name, const Context& context) {
  std::error_code ignored;
  return std::filesystem::is_directory(context.images_folder(), ignored) &&
         measure::ImageStore(context.images_folder()).has(name);
}

ExitCode list_environments(const EnvOrder& order, Context& context) {
  json document = json::array(), images_document = json::array();
  Table table({{"recipe"},
               {"state"},
               {"size", Align::Right},
               {"licence"},
               {"what it is, or why not here", Align::Left, Fit::Wraps}});
  for (const measure::EnvironmentRecipe& recipe : order.frameworks->recipes()) {
    const bool wanted = order.recipes.empty() || std::ranges::find(order.recipes, &recipe) != order.recipes.end();
    if (!wanted) continue;
    const auto installed = order.frameworks->installed(recipe.name);
    const std::string obstacle = order.frameworks->obstacle(recipe.name);
    document.push_back(environment_row(recipe, installed, obstacle));
    const char* word = state_of(recipe, installed.has_value(), obstacle);
    const Cell state = installed ? Cell(word, Style::Good) : obstacle.empty() ? Cell(word) : Cell(word, Style::Faint);
    table.add({Cell(recipe.name, Style::Strong), state,
               installed ? bytes_text(static_cast<std::int64_t>(installed->bytes)) : about(recipe.disk_bytes),
               recipe.licence, obstacle.empty() ? recipe.title : obstacle});
  }
  Table images(
      {{"image"}, {"state"}, {"size", Align::Right}, {"what it is, or why not here", Align::Left, Fit::Wraps}});
  if (order.recipes.empty()) list_images(context, images_document, images);
  if (context.json) {
    print_json(context, "env-list", {{"environments", document}, {"images", images_document}});
  } else {
    table.print(context);
    if (!images.empty()) {
      *context.out << '\n';
      images.print(context);
    }
  }
  for (const std::string& problem : order.frameworks->problems())
    *context.err << "A recipe is left out: " << problem << '\n';
  return ExitCode::Ok;
}

ExitCode remove_environments(const EnvOrder& order, Context& context) {
  ExitCode code = ExitCode::Ok;
  json document = json::array(), images = json::array();
  for (const measure::EnvironmentRecipe* recipe : order.recipes) {
    std::string error;
    std::error_code ignored;
    measure::EnvironmentStore* store = nullptr;
    if (std::filesystem::is_directory(context.environments_folder(), ignored)) {
      store = order.frameworks->store(error);
      if (store == nullptr) return complain(context, ExitCode::Unavailable, error);
    }
    const bool removed = store != nullptr && store->remove(recipe->name);
    tell_removed(context, document, recipe->name, removed, "is not installed, or is being installed right now");
    if (!removed) code = ExitCode::NotFound;
  }
  for (const std::string& image : order.images) {
    const bool removed = measure::ImageStore(context.images_folder()).remove(image);
    tell_removed(context, images, image, removed, "is gone, or is being made right now");
    if (!removed) code = ExitCode::NotFound;
  }
  if (context.json) print_json(context, "env-remove", {{"environments", document}, {"images", images}});
  return code;
}

ExitCode print_python(const EnvOrder& order, Context& context) {
  const measure::EnvironmentRecipe& recipe = *order.recipes.front();
  if (recipe.kind != measure::RecipeKind::Python)
    return complain(context, ExitCode::Negative, fmt::format("{} is no environment with a Python", recipe.name));
  const auto installed = order.frameworks->installed(recipe.name);
  if (!installed) {
    return complain(context, ExitCode::NotFound,
                    fmt::format("{} is not installed: '{}' does that", recipe.name,
                                tuner::command_text({"env", "install", recipe.name})));
  }
  if (context.json)
    print_json(context, "env-python", {{"name", recipe.name}, {"python", installed->python.string()}});
  else
    context.verbatim() << installed->python.string() << '\n';
  return ExitCode::Ok;
}

ExitCode export_environment(const EnvOrder& order, Context& context) {
  const measure::EnvironmentRecipe& recipe = *order.recipes.front();
  const auto installed = order.frameworks->installed(recipe.name);
  if (!installed) {
    return complain(context, ExitCode::NotFound,
                    fmt::format("{} is not installed: '{}' resolves its versions", recipe.name,
                                tuner::command_text({"env", "install", recipe.name})));
  }
  const json lock = {{"nocturne_lock", kLockVersion},
                     {"recipe", recipe.name},
                     {"key", installed->key},
                     {"python", measure::to_text(installed->interpreter.version)},
                     {"abi", installed->interpreter.abi},
                     {"packages", installed->lock}};
  const json document = named_document("env-export", lock);
  if (order.options.output.empty()) {
    print_json(context, "env-export", lock);
    return ExitCode::Ok;
  }
  const auto written = space::write_file(order.options.output, document.dump(2) + "\n", false);
  return written ? ExitCode::Ok : complain(context, ExitCode::Unavailable, written.error());
}

std::expected<LockFile, std::string> read_lock_file(const std::string& path) {
  const auto text = space::read_file(path, kLargestLock + 1);
  if (!text) return std::unexpected(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  const json document =
      text->size() <= kLargestLock ? json::parse(*text, nullptr, false) : json(json::value_t::discarded);
  const auto wrong = [&](std::string_view what) {
    return std::unexpected(fmt::format("{} is no lock of 'nocturne env export': {}", path, what));
  };
  if (!document.is_object()) return wrong("not a JSON object");
  if (document.value("nocturne_lock", json()) != json(kLockVersion)) return wrong("'nocturne_lock' is not 1");
  const json recipe = document.value("recipe", json()), packages = document.value("packages", json());
  if (!recipe.is_string()) return wrong("'recipe' is no text");
  if (!packages.is_array() || packages.empty()) return wrong("'packages' is no list");
  LockFile lock{.recipe = recipe.get<std::string>(), .packages = {}};
  for (const json& package : packages) {
    if (!package.is_string()) return wrong("'packages' holds something else than texts");
    lock.packages.push_back(package.get<std::string>());
  }
  return lock;
}

}  // namespace nocturne::cli
