#include "measure/container/image_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "measure/artifact/lock.hpp"
#include "measure/container/image_form.hpp"
#include "measure/container/image_steps.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kImageManifest = "manifest.json";
constexpr std::size_t kKeyLength = 12;

std::string folder_name(const ImageRecipe& recipe) {
  return fmt::format("{}-{}", recipe.name, space::sha256(identity_of(recipe)).substr(0, kKeyLength));
}

json read_json(const fs::path& file) {
  const auto text = space::read_file(file);
  return text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
}

/// Written beside, flushed, renamed: a reader sees all of it or nothing.
void write_json(const fs::path& file, const json& document) {
  const fs::path beside = file.string() + ".new";
  std::ofstream(beside) << document.dump(2) << '\n';
  if (const int handle = ::open(beside.c_str(), O_RDONLY | O_CLOEXEC); handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
  fs::rename(beside, file);
}

std::unexpected<ImageFailure> fail(std::string reason) {
  return std::unexpected(ImageFailure{.reason = std::move(reason)});
}

/// The runtime's own id of the image, where it still has it.
std::optional<std::string> kept_by(const ContainerRuntime& runtime, const fs::path& folder, ImageSession& session) {
  const json known = read_json(folder / (std::string(runtime.name()) + ".json"));
  if (!known.is_object() || !known.value("reference", json()).is_string()) return std::nullopt;
  return session.identify(runtime, known["reference"].get<std::string>());
}

/// For a runtime that runs folders: it unpacks the image into folder/RUNTIME, beside those of others. A killed attempt
/// leaves only what the next one removes.
std::expected<void, ImageFailure> unpack_for(const ContainerRuntime& runtime, const ImageRecipe& recipe,
                                             const fs::path& folder, ImageSession& session) {
  const fs::path own = folder / runtime.name();
  if (fs::exists(own / "root")) return {};
  const fs::path beside = folder / (std::string(runtime.name()) + ".making");
  fs::remove_all(beside);
  fs::create_directories(beside);
  if (auto done = session.acquire(recipe, runtime, beside, folder_name(recipe)); !done)
    return std::unexpected(std::move(done.error()));
  // A folder without its root was left by a kill between two steps.
  fs::remove_all(own);
  fs::rename(beside, own);
  return {};
}

/// The image's id in the runtime's storage: imported from its root where it has one, else pulled or built.
std::expected<std::string, ImageFailure> stored_in(const ContainerRuntime& runtime, const ImageRecipe& recipe,
                                                   const fs::path& root, const fs::path& folder,
                                                   ImageSession& session) {
  if (auto id = kept_by(runtime, folder, session)) return *id;
  const std::string name = folder_name(recipe);
  auto made =
      root.empty() ? session.acquire(recipe, runtime, folder, name) : session.import_root(root, runtime, folder, name);
  if (made) write_json(folder / (std::string(runtime.name()) + ".json"), {{"reference", *made}});
  return made;
}

}  // namespace

ImageStore::ImageStore(const fs::path& root) {
  fs::create_directories(root);
  root_ = fs::canonical(root);
  sweep_incomplete(root_);
}

std::expected<ContainerImage, ImageFailure> ImageStore::obtain(const ImageRecipe& recipe,
                                                               const ContainerRuntime& runtime,
                                                               const ImageOptions& options,
                                                               const std::stop_token& stop) {
  const std::string name = folder_name(recipe);
  const fs::path folder = root_ / name;
  const auto lock = FileLock::take(lock_of_name(root_, name), stop);
  if (!lock) {
    return std::unexpected(
        ImageFailure{.reason = "the image's lock could not be taken", .interrupted = stop.stop_requested()});
  }
  ImageSession session{
      .log = {}, .options = options, .stop = stop, .end = std::chrono::steady_clock::now() + options.deadline};
  try {
    json manifest = read_json(folder / kImageManifest);
    const bool whole = manifest.is_object() && manifest.value("digest", json()).is_string();
    if (!whole) {
      Incomplete making(root_, name);
      session.log = making.path() / "log.txt";
      auto digest = session.make_root(recipe, making.path());
      if (!digest) return std::unexpected(std::move(digest.error()));
      manifest = {{"image", recipe.name}, {"digest", *digest}, {"recipe", identity_of(recipe)}};
      write_json(making.path() / kImageManifest, manifest);
      making.take_place_of(folder);
    }
    session.log = folder / "log.txt";
    ContainerImage image{
        .name = recipe.name, .digest = manifest["digest"].get<std::string>(), .root = {}, .reference = {}};
    fs::path base = recipe.kind == ImageKind::Folder ? recipe.folder : folder / "root";
    const bool has_root = recipe.kind == ImageKind::Debootstrap || recipe.kind == ImageKind::Folder;
    if (has_root) image.root = base;

    if (runtime.keeps_images() && options.form != kFolderForm) {
      return std::unexpected(ImageFailure{
          .reason =
              fmt::format("{} keeps images in a form of its own, so there is no {}", runtime.name(), options.form),
          .unsupported = true});
    }
    if (!runtime.keeps_images()) {
      if (!has_root) {
        if (auto done = unpack_for(runtime, recipe, folder, session); !done)
          return std::unexpected(std::move(done.error()));
        image.root = folder / runtime.name() / "root";
      }
      if (image.digest.empty()) image.digest = digest_of_files(image.root);
      if (auto taken = take_form(runtime, options.form, folder, image); !taken)
        return std::unexpected(ImageFailure{.reason = std::move(taken.error()), .unsupported = true});
      return image;
    }
    const auto id = stored_in(runtime, recipe, image.root, folder, session);
    if (!id) return std::unexpected(id.error());
    image.reference = *id;
    if (image.digest.empty()) image.digest = *id;
    return image;
  } catch (const fs::filesystem_error& error) {  // a full disk is a failed image, not the end of the campaign
    return fail(error.what());
  }
}

std::vector<StoredImage> ImageStore::whole_ones() const {
  std::vector<StoredImage> images;
  for (const fs::directory_entry& entry : space::entries_of(root_)) {
    const json manifest = read_json(entry.path() / kImageManifest);
    const bool named = manifest.is_object() && manifest.value("image", json()).is_string() &&
                       manifest.value("digest", json()).is_string();
    if (!named) continue;
    images.push_back({.name = manifest["image"].get<std::string>(),
                      .digest = manifest["digest"].get<std::string>(),
                      .folder = entry.path()});
  }
  return images;
}

std::vector<StoredImage> ImageStore::list() const {
  std::vector<StoredImage> images = whole_ones();
  for (StoredImage& image : images) {
    std::error_code inner;
    for (fs::recursive_directory_iterator file(image.folder, inner), last; !inner && file != last;
         file.increment(inner)) {
      std::error_code ignored;
      if (!file->is_regular_file(ignored) || file->is_symlink(ignored)) continue;
      if (const auto bytes = file->file_size(ignored); !ignored) image.bytes += bytes;  // it may be gone by now
    }
  }
  std::ranges::sort(images, {}, &StoredImage::name);
  return images;
}

bool ImageStore::has(std::string_view name) const {
  return std::ranges::any_of(whole_ones(), [&](const StoredImage& image) { return image.name == name; });
}

bool ImageStore::remove(const std::string& name) {
  bool removed = false;
  for (const StoredImage& image : whole_ones()) {
    if (image.name != name) continue;
    const auto lock = FileLock::try_take(lock_of_name(root_, image.folder.filename()));
    if (!lock) return false;
    std::error_code error;
    fs::remove(image.folder / kImageManifest, error);  // from here on it does not count, whatever happens
    if (error) return false;
    fs::remove_all(image.folder, error);
    removed = true;
  }
  return removed;
}

// What a root file system is known by.

std::string digest_of_packages(const fs::path& root) {
  std::ifstream status(root / "var/lib/dpkg/status");
  std::vector<std::string> packages;
  std::string name, version;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Package: ")) name = line.substr(9);
    if (line.starts_with("Version: ")) version = line.substr(9);
    if (!line.empty() || name.empty()) continue;
    packages.push_back(name + '=' + version + '\n');
    name.clear();
  }
  // No packages of Debian: the files themselves have to say it.
  if (packages.empty()) return {};
  std::ranges::sort(packages);
  space::Sha256 digest;
  for (const std::string& package : packages) digest.update(package);
  return "sha256:" + digest.finish();
}

std::string digest_of_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_symlink() || !entry->is_directory()) files.push_back(entry->path());
  std::ranges::sort(files);
  space::Sha256 digest;
  for (const fs::path& file : files) {
    struct stat info{};
    if (::lstat(file.c_str(), &info) != 0) continue;
    digest.update(fmt::format("{}\n{:o}\n", file.lexically_relative(root).string(), info.st_mode));
    if (S_ISLNK(info.st_mode)) digest.update(fs::read_symlink(file, error).string());
    if (S_ISREG(info.st_mode)) {
      digest.update(fmt::format("{}\n", info.st_size));
      static_cast<void>(space::read_file_in_pieces(file, [&](std::string_view piece) { digest.update(piece); }));
    }
  }
  return "sha256:" + digest.finish();
}

std::expected<bool, std::string> make_mount_points(const fs::path& root, const std::vector<ContainerMount>& mounts) {
  bool grown = false;
  for (const ContainerMount& mount : mounts) {
    const fs::path place = root / mount.path.relative_path();
    std::error_code error;
    if (fs::exists(place, error)) continue;
    grown = true;
    const bool is_file = fs::is_regular_file(mount.path, error);
    fs::create_directories(is_file ? place.parent_path() : place, error);
    if (!error && is_file && !std::ofstream(place, std::ios::app))
      error = std::make_error_code(std::errc::permission_denied);
    if (error) {
      return std::unexpected(fmt::format("no place to mount {} could be made in the image {}: {}", mount.path.string(),
                                         root.string(), error.message()));
    }
  }
  return grown;
}

}  // namespace nocturne::measure
