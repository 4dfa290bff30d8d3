#include "measure/container/image_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "measure/artifact/process.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/supervisor/log.hpp"

namespace nocturne::measure {
namespace {

struct KnownError {
  std::initializer_list<std::string_view> signs;
  std::string_view remedy;
  bool unreachable = false;
};

bool says_any(std::string_view output, std::initializer_list<std::string_view> signs) {
  return std::ranges::any_of(signs, [output](std::string_view sign) { return output.contains(sign); });
}

namespace fs = std::filesystem;

constexpr std::size_t kImageLogTail = 4 << 10;
constexpr std::uintmax_t kRoomToKeep = std::uintmax_t{1} << 30;

std::unexpected<ImageFailure> impossible(std::string reason) {
  return std::unexpected(ImageFailure{.reason = std::move(reason)});
}

std::string tag_of(const ContainerRuntime& runtime, const std::string& name) {
  // Podman would look an unqualified name up in registries.
  return (runtime.name() == "podman" ? "localhost/nocturne/" : "nocturne/") + name;
}

std::string lowered(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

}  // namespace

// The order matters: a full disk and a refusal are also told as an image that could not be read.
ImageError image_error(std::string_view output) {
  static const std::array<KnownError, 7> kErrors = {{
      {{"no space left on device", "No space left on device", "Disk quota exceeded"},
       "free some space, on the disk of the data folder or of the runtime's storage"},
      {{"unauthorized", "authentication required", "access denied", "denied: requested access", "403 Forbidden"},
       "log in to the registry with the runtime's own login, or correct the reference"},
      {{"manifest unknown", "MANIFEST_UNKNOWN", "manifest for", "not found: manifest", "404 Not Found", "name unknown",
        "repository does not exist", "no such image"},
       "the registry has no such image or no such digest any more: correct the recipe's reference"},
      {{"x509", "certificate signed by unknown authority", "server gave HTTP response to HTTPS client"},
       "the registry's certificate is not trusted: give the runtime its authority"},
      {{"no such host", "Temporary failure in name resolution", "Temporary failure resolving", "connection refused",
        "Connection refused", "network is unreachable", "Network is unreachable", "i/o timeout", "Could not resolve",
        "Couldn't download", "Unable to connect"},
       "look at the network and the proxy, or use an image of kind debootstrap or folder",
       /*unreachable=*/true},
      {{"No such script"},
       "this debootstrap does not know the release: correct the recipe's suite, or take a later one"},
      {{"permission denied", "Permission denied", "operation not permitted", "Operation not permitted", "newuidmap"},
       "this user lacks the right: 'nocturne doctor' says what the runtime needs"},
  }};
  for (const KnownError& error : kErrors)
    if (says_any(output, error.signs)) return {.remedy = error.remedy, .unreachable = error.unreachable};
  return {};
}

std::expected<void, ImageFailure> ImageSession::step(const std::vector<std::string>& argv, const std::string& what) {
  if (options.progress) options.progress(what);
  const auto program = find_tool(argv.front());
  if (!program) return impossible(fmt::format("{}: {} is not installed", what, argv.front()));
  std::vector<std::string> words = argv;
  words.front() = program->string();
  const CommandResult result = run_command({.argv = std::move(words)}, log, end, stop);
  if (result.ok()) return {};
  ImageFailure failure;
  failure.interrupted = result.end == CommandEnd::Stopped;
  failure.log_tail = tail_of(log, kImageLogTail);
  const std::string last = last_line_of(failure.log_tail);
  failure.reason = fmt::format("{}: {}{}{}", what, to_text(result), last.empty() ? "" : ": ", last);
  // Who cannot write to the disk cannot write that into the log either.
  failure.no_room = is_nearly_full(log.parent_path());
  const ImageError error = image_error(failure.no_room ? "No space left on device" : failure.log_tail);
  failure.unreachable = error.unreachable;
  if (!error.remedy.empty()) failure.reason += fmt::format("; {}", error.remedy);
  return std::unexpected(std::move(failure));
}

std::expected<std::string, ImageFailure> ImageSession::make_root(const ImageRecipe& recipe, const fs::path& folder) {
  if (recipe.kind == ImageKind::Folder) {
    std::error_code ignored;
    if (!fs::is_directory(recipe.folder, ignored))
      return impossible(fmt::format("image {}: there is no folder {}", recipe.name, recipe.folder.string()));
    return digest_of_files(recipe.folder);
  }
  if (recipe.kind != ImageKind::Debootstrap) return std::string();
  if (!find_tool("debootstrap"))
    return impossible(fmt::format("image {}: debootstrap is not installed: apt-get install debootstrap", recipe.name));
  if (::geteuid() != 0) {
    return impossible(
        fmt::format("image {}: debootstrap needs root: make it once as root, or write a recipe of kind "
                    "reference, file or folder",
                    recipe.name));
  }
  std::error_code error;
  const fs::space_info room = fs::space(folder, error);
  const auto needed = static_cast<std::uintmax_t>(recipe.disk_mb) * 1'000'000 + kRoomToKeep;
  if (!error && room.available < needed) {
    return impossible(
        fmt::format("image {}: it takes {} MB and one GiB shall stay free; there are {} MB: nocturne "
                    "clean drops what is old",
                    recipe.name, recipe.disk_mb, room.available / 1'000'000));
  }
  const fs::path root = folder / "root";
  // In a mount namespace of its own: killed, it leaves no /proc mounted in a folder that is removed.
  std::vector<std::string> argv = {"unshare", "--mount", "debootstrap", "--variant=minbase"};
  if (!recipe.packages.empty()) argv.push_back(fmt::format("--include={}", fmt::join(recipe.packages, ",")));
  argv.insert(argv.end(), {recipe.suite, root.string()});
  if (!recipe.mirror.empty()) argv.push_back(recipe.mirror);
  if (auto done = step(argv, fmt::format("image {}: debootstrap {}", recipe.name, recipe.suite)); !done)
    return std::unexpected(std::move(done.error()));
  // What was needed to install, and this machine's own names.
  for (const char* left : {"var/cache/apt/archives", "var/lib/apt/lists", "debootstrap"})
    fs::remove_all(root / left, error);
  for (const char* file : {"etc/hosts", "etc/resolv.conf", "etc/hostname"}) {
    fs::remove(root / file, error);
    if (auto made = make_mount_points(root, {{.path = fs::path("/") / file}}); !made) return impossible(made.error());
  }
  return digest_of_packages(root);
}

std::optional<std::string> ImageSession::identify(const ContainerRuntime& runtime, const std::string& image) {
  const auto said = ask_tool(runtime.identify_command(image), std::chrono::seconds(20));
  if (!said || said->empty()) return std::nullopt;
  return said->starts_with("sha256:") ? *said : "sha256:" + *said;
}

std::expected<std::string, ImageFailure> ImageSession::import_root(const fs::path& root,
                                                                   const ContainerRuntime& runtime,
                                                                   const fs::path& folder, const std::string& name) {
  const fs::path tarball = folder / "root.tar";
  const std::string tag = tag_of(runtime, lowered(name));
  const std::string what = fmt::format("image {}: import into {}", name, runtime.name());
  auto done =
      step({"tar", "--numeric-owner", "--one-file-system", "-C", root.string(), "-cf", tarball.string(), "."}, what);
  if (done) done = step(runtime.import_command(tarball, tag), what);
  std::error_code ignored;
  fs::remove(tarball, ignored);
  if (!done) return std::unexpected(std::move(done.error()));
  if (auto id = identify(runtime, tag)) return *id;
  return impossible(fmt::format("{}: it does not find what it imported", what));
}

std::expected<std::string, ImageFailure> ImageSession::acquire(const ImageRecipe& recipe,
                                                               const ContainerRuntime& runtime, const fs::path& folder,
                                                               const std::string& name) {
  const std::string tag = tag_of(runtime, lowered(name));
  const auto steps = runtime.acquire(recipe, folder, tag);
  if (!steps) return impossible(fmt::format("image {}: {}", recipe.name, steps.error()));
  for (const auto& argv : *steps) {
    const std::string what =
        fmt::format("image {}: {}", recipe.name,
                    recipe.kind == ImageKind::Reference ? "pull " + recipe.reference : "build " + recipe.file.string());
    if (auto done = step(argv, what); !done) return std::unexpected(std::move(done.error()));
  }
  if (!runtime.keeps_images()) return std::string();
  if (auto id = identify(runtime, tag)) return *id;
  return impossible(fmt::format("image {}: {} does not find it in its storage", recipe.name, runtime.name()));
}

}  // namespace nocturne::measure
