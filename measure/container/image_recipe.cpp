#include "measure/container/image_recipe.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/container/runtimes.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

bool is_plain_word(std::string_view word, std::string_view more, std::size_t most) {
  return !word.empty() && word.size() <= most && std::isalnum(static_cast<unsigned char>(word.front())) != 0 &&
         std::ranges::all_of(word, [more](char letter) {
           return kNameLetters.find(letter) != std::string_view::npos || more.find(letter) != std::string_view::npos;
         });
}

/// HOST[:PORT]/PATH@sha256:DIGITS, or PATH@sha256:DIGITS.
bool is_pinned_reference(std::string_view reference) {
  constexpr std::string_view kDigest = "@sha256:";
  const std::size_t at = reference.find(kDigest);
  if (at == std::string_view::npos) return false;
  return is_plain_word(reference.substr(0, at), "/:", 255) && reference.find("..") == std::string_view::npos &&
         reference.find("//") == std::string_view::npos && space::is_sha256(reference.substr(at + kDigest.size()));
}

bool is_mirror(std::string_view address) {
  const bool known =
      address.starts_with("http://") || address.starts_with("https://") || address.starts_with("file:///");
  return known && address.find_first_of(" \t\n'\"\\") == std::string_view::npos;
}

std::unexpected<std::string> refuse_key(std::string_view key, std::string_view what) {
  return std::unexpected(fmt::format("{}: {}", key, what));
}

std::expected<ImageKind, std::string> kind_of(const std::string& text) {
  if (text == "debootstrap") return ImageKind::Debootstrap;
  if (text == "reference") return ImageKind::Reference;
  if (text == "file") return ImageKind::File;
  if (text == "folder") return ImageKind::Folder;
  return refuse_key("kind", fmt::format("'{}' is none of debootstrap, reference, file, folder", text));
}

std::expected<void, std::string> check_kind(const ImageRecipe& recipe) {
  switch (recipe.kind) {
    case ImageKind::Debootstrap:
      if (!is_plain_word(recipe.suite, "", 40))
        return refuse_key("suite", "the name of a Debian release, such as bookworm");
      for (const std::string& package : recipe.packages)
        if (!is_plain_word(package, "+", 100))
          return refuse_key("packages", fmt::format("'{}' is no name of a package", package));
      if (!recipe.mirror.empty() && !is_mirror(recipe.mirror))
        return refuse_key("mirror", fmt::format("'{}' is no http, https or file address", recipe.mirror));
      return {};
    case ImageKind::Reference:
      if (!is_pinned_reference(recipe.reference))
        return refuse_key("reference", fmt::format("'{}' is not NAME@sha256:<64 digits>; a tag alone may name another "
                                                   "image tomorrow",
                                                   recipe.reference));
      return {};
    case ImageKind::File: {
      std::error_code ignored;
      if (!fs::is_regular_file(recipe.file, ignored))
        return refuse_key("file", fmt::format("there is no file {}", recipe.file.string()));
      return {};
    }
    case ImageKind::Folder:
      if (!recipe.folder.is_absolute() || recipe.folder != recipe.folder.lexically_normal())
        return refuse_key("folder", "an absolute path without '..' is needed");
      return {};
  }
  return {};
}

}  // namespace

bool is_image_name(std::string_view name) {
  return is_plain_word(name, "", 64);
}

std::string identity_of(const ImageRecipe& recipe) {
  json identity = {static_cast<int>(recipe.kind), recipe.suite, recipe.packages, recipe.reference,
                   recipe.folder.string()};
  if (recipe.kind == ImageKind::File) identity.push_back(space::sha256_of_file(recipe.file).value_or(""));
  return identity.dump();
}

std::expected<ImageRecipe, std::string> image_recipe_from_json(const json& document, const fs::path& beside) {
  static const std::set<std::string> kKnown = {"image",     "title", "kind",   "suite",   "packages", "mirror",
                                               "reference", "file",  "folder", "disk_mb", "note",     "labels"};
  if (!document.is_object()) return std::unexpected("the recipe of an image is a JSON object");
  for (const auto& [key, value] : document.items())
    if (!kKnown.contains(key)) return refuse_key(key, fmt::format("unknown; known are {}", fmt::join(kKnown, ", ")));
  ImageRecipe recipe;
  try {
    recipe.name = document.at("image").get<std::string>();
    recipe.title = document.value("title", recipe.name);
    const auto kind = kind_of(document.at("kind").get<std::string>());
    if (!kind) return std::unexpected(kind.error());
    recipe.kind = *kind;
    recipe.suite = document.value("suite", "");
    recipe.packages = document.value("packages", std::vector<std::string>{});
    recipe.mirror = document.value("mirror", "");
    recipe.reference = document.value("reference", "");
    recipe.folder = document.value("folder", "");
    recipe.disk_mb = document.value("disk_mb", std::int64_t{0});
    recipe.note = document.value("note", "");
    recipe.labels = document.value("labels", json::object());
    if (const std::string file = document.value("file", ""); !file.empty()) {
      if (!is_image_name(file)) return refuse_key("file", fmt::format("'{}' is no file name beside the recipe", file));
      recipe.file = fs::absolute(beside / file).lexically_normal();
    }
  } catch (const json::exception& error) {
    return std::unexpected(std::string(error.what()));
  }
  if (!is_image_name(recipe.name)) return refuse_key("image", fmt::format("'{}' is no name of an image", recipe.name));
  if (auto checked = check_kind(recipe); !checked) return std::unexpected(std::move(checked.error()));
  return recipe;
}

std::expected<ImageRecipe, std::string> load_image_recipe(const fs::path& file) {
  const auto text = space::read_file(file);
  if (!text) return std::unexpected(fmt::format("cannot read {}", file.string()));
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (document.is_discarded()) return std::unexpected(fmt::format("{} is no JSON", file.string()));
  auto recipe = image_recipe_from_json(document, file.parent_path());
  if (!recipe) return std::unexpected(fmt::format("{}: {}", file.string(), recipe.error()));
  if (recipe->name != file.stem()) {
    return std::unexpected(
        fmt::format("{}: image is '{}', but the file is named otherwise", file.string(), recipe->name));
  }
  return recipe;
}

std::expected<ImageRecipe, std::string> find_image_recipe(const std::string& name,
                                                          const std::vector<fs::path>& folders) {
  if (!is_image_name(name)) return std::unexpected(fmt::format("'{}' is no name of an image", name));
  std::set<std::string> known;
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::is_regular_file(folder / (name + ".json"), error)) return load_image_recipe(folder / (name + ".json"));
    for (const fs::directory_entry& entry : space::entries_of(folder))
      if (entry.path().extension() == ".json") known.insert(entry.path().stem());
  }
  return std::unexpected(
      fmt::format("there is no recipe of an image '{}'; known are: {}", name, fmt::join(known, ", ")));
}

std::string obstacle_of(const ImageRecipe& recipe) {
  std::error_code ignored;
  if (recipe.kind == ImageKind::Folder && !fs::is_directory(recipe.folder, ignored))
    return fmt::format("there is no folder {}", recipe.folder.string());
  if (recipe.kind != ImageKind::Debootstrap) return {};
  if (!find_tool("debootstrap"))
    return "needs the program debootstrap; install it (Debian: apt-get install debootstrap)";
  return ::geteuid() == 0 ? std::string() : "debootstrap makes it as root alone";
}

std::vector<ImageRecipe> known_images(const std::vector<fs::path>& folders) {
  std::map<std::string, ImageRecipe> found;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : space::entries_of(folder)) {
      if (entry.path().extension() != ".json") continue;
      if (auto recipe = load_image_recipe(entry.path())) {
        std::string name = recipe->name;
        found.try_emplace(std::move(name), std::move(*recipe));  // the first folder's stays
      }
    }
  }
  std::vector<ImageRecipe> recipes;
  for (auto& [name, recipe] : found) recipes.push_back(std::move(recipe));
  return recipes;
}

}  // namespace nocturne::measure
