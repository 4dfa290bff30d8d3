#include "measure/artifact/artifact.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "measure/artifact/compiler.hpp"
#include "measure/artifact/lock.hpp"
#include "measure/artifact/plan.hpp"
#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "space/unix_time.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr const char* kManifest = "manifest.json";
constexpr std::size_t kKeyDigits = 64;

bool is_key(std::string_view name) {
  return name.size() == kKeyDigits && std::ranges::all_of(name, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

json read_manifest(const fs::path& folder) {
  const auto text = space::read_file(folder / kManifest);
  json document = text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
  const bool complete = document.is_object() && document.value("name", json()).is_string() &&
                        document.value("program_digest", json()).is_string() &&
                        document.value("flags", json()).is_string() && document.value("compiler", json()).is_string() &&
                        document.value("build_ns", json()).is_number_integer() &&
                        document.value("program_bytes", json()).is_number_unsigned();
  return complete ? document : json();
}

/// What is written must be on the disk before its folder gets its name, or a power cut leaves an empty program.
void flush(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

/// The artifact in this folder, if it is whole.
std::optional<Artifact> whole_artifact(const fs::path& folder, const std::string& key) {
  const json manifest = read_manifest(folder);
  if (manifest.is_null()) return std::nullopt;
  Artifact artifact{.key = key,
                    .program = folder / manifest["name"].get<std::string>(),
                    .built_now = false,
                    .build_time = std::chrono::nanoseconds(manifest["build_ns"].get<std::int64_t>()),
                    .compiler = manifest["compiler"].get<std::string>(),
                    .bytes = manifest["program_bytes"].get<std::uintmax_t>()};
  // A program that was cut short by a full disk, or edited by hand, is built again rather than measured.
  if (file_digest(artifact.program) != manifest["program_digest"].get<std::string>()) return std::nullopt;
  return artifact;
}

void mark_used(const fs::path& folder) {
  std::error_code ignored;
  fs::last_write_time(folder / kManifest, fs::file_time_type::clock::now(), ignored);
}

/// A program of ours as it came along: what NOCTURNE_ONEDNN_PROGRAM names (of nocturne-onednn), else beside this
/// program. Empty: it is not there.
fs::path program_that_came_along(const std::string& name) {
  std::string variable = name + "_PROGRAM";
  std::ranges::transform(variable, variable.begin(), [](unsigned char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  });
  const char* named = std::getenv(variable.c_str());
  std::error_code error;
  const fs::path program = named != nullptr && *named != '\0'
                               ? fs::path(named)
                               : fs::read_symlink("/proc/self/exe", error).parent_path() / name;
  return !error && access(program.c_str(), X_OK) == 0 ? fs::absolute(program) : fs::path();
}

/// Whether the compiler looked in vain for a header that is none of ours: its package is not installed.
bool lacks_package(const std::string& log, const fs::path& source_root) {
  constexpr std::string_view kError = "fatal error: ", kMissing = ": No such file or directory";
  const std::size_t end = log.find(kMissing), begin = log.rfind(kError, end);
  if (end == std::string::npos || begin == std::string::npos) return false;
  const fs::path header = log.substr(begin + kError.size(), end - begin - kError.size());
  std::error_code ignored;
  return !header.empty() && !fs::exists(source_root / *header.begin(), ignored);
}

/// Where nothing can be built for want of a compiler or a package: the program that came along, if it is what these
/// flags would make. It is built with those that stand for absent parameters, for any processor. Else the failure.
std::expected<Artifact, BuildFailure> without_compiler(const BuildRecipe& recipe, const BuildFlags& flags,
                                                       const BuildFailure& failure) {
  BuildFlags other = flags;
  if (other.march == "x86-64") other.march.clear();  // which compilers of this machine's kind take by themselves
  if (failure.interrupted || other != BuildFlags{}) return std::unexpected(failure);
  if (find_program(flags.compiler) && !lacks_package(failure.log_tail, recipe.source_root))
    return std::unexpected(failure);
  const fs::path program = program_that_came_along(recipe.name);
  const std::string digest = program.empty() ? "" : file_digest(program);
  if (digest.empty()) return std::unexpected(failure);
  std::error_code ignored;
  return Artifact{.key = digest,
                  .program = program,
                  .compiler = "none here: the program that came along",
                  .bytes = fs::file_size(program, ignored)};
}

BuildFailure build_failure(std::string reason, const std::stop_token& stop) {
  return {.reason = std::move(reason), .interrupted = stop.stop_requested()};
}

}  // namespace

ArtifactStore::ArtifactStore(const fs::path& root) {
  fs::create_directories(root);
  root_ = fs::canonical(root);
  sweep_incomplete(root_);
}

std::vector<ArtifactStore::KnownFile> ArtifactStore::look_at(const std::vector<fs::path>& files) {
  std::vector<KnownFile> seen;
  for (const fs::path& file : files) {
    std::error_code error;
    KnownFile known{.path = file, .time = fs::last_write_time(file, error), .bytes = fs::file_size(file, error)};
    seen.push_back(std::move(known));
  }
  return seen;
}

bool ArtifactStore::is_unchanged(const std::vector<KnownFile>& files) {
  std::vector<fs::path> paths;
  for (const KnownFile& file : files) paths.push_back(file.path);
  return look_at(paths) == files;
}

std::expected<ArtifactStore::KnownKey, BuildFailure> ArtifactStore::find_key(const BuildRecipe& recipe,
                                                                             const BuildFlags& flags,
                                                                             const BuildOptions& options,
                                                                             Clock::time_point deadline,
                                                                             const std::stop_token& stop) {
  json question = {recipe.name,      recipe.source_root.string(),
                   recipe.standard,  recipe.defines,
                   recipe.libraries, recipe.flags,
                   recipe.uses,      recipe.together,
                   to_text(flags)};
  for (const auto* paths : {&recipe.sources, &recipe.include}) {
    for (const fs::path& path : *paths) question.push_back(path.string());
    question.push_back(nullptr);
  }
  for (const auto& [name, prefix] : options.prefixes) question.push_back(name + '=' + prefix.string());
  const std::string asked = question.dump();
  if (const auto known = known_.find(asked); known != known_.end()) {
    // Computing a key asks the compiler for every unit's headers: seconds, where times and sizes of files cost
    // milliseconds.
    if (is_unchanged(known->second.files)) return known->second;
    known_.erase(known);
  }
  const auto plan = plan_build(recipe, flags, options, deadline, stop);
  if (!plan) return std::unexpected(plan.error());
  auto key = compute_key(*plan, options, deadline, stop);
  if (!key) return std::unexpected(std::move(key.error()));
  std::vector<fs::path> files = std::move(key->files);
  files.push_back(plan->compiler.path);
  KnownKey result{.key = std::move(key->key), .inputs = std::move(key->inputs), .files = look_at(files)};
  known_[asked] = result;
  return result;
}

std::expected<std::string, BuildFailure> ArtifactStore::key_of(const BuildRecipe& recipe, const BuildFlags& flags,
                                                               const BuildOptions& options,
                                                               const std::stop_token& stop) {
  auto known = find_key(recipe, flags, options, Clock::now() + options.deadline, stop);
  if (!known) return std::unexpected(std::move(known.error()));
  return std::move(known->key);
}

std::expected<Artifact, BuildFailure> ArtifactStore::obtain(const BuildRecipe& recipe, const BuildFlags& flags,
                                                            const BuildOptions& options, const std::stop_token& stop) {
  const auto known = find_key(recipe, flags, options, Clock::now() + options.deadline, stop);
  if (!known) return without_compiler(recipe, flags, known.error());
  const std::string& key = known->key;
  const fs::path folder = folder_of(key);
  if (auto artifact = whole_artifact(folder, key)) {
    mark_used(folder);
    return *artifact;
  }
  const auto lock = FileLock::take(lock_of_name(root_, key), stop);
  if (!lock)
    return std::unexpected(build_failure("the build was stopped before it began, or its lock cannot be made", stop));
  if (auto artifact = whole_artifact(folder, key)) {  // somebody built it while we waited
    mark_used(folder);
    return *artifact;
  }

  try {
    const auto began = Clock::now();
    const auto deadline = began + options.deadline;
    const auto plan = plan_build(recipe, flags, options, deadline, stop);
    if (!plan) return std::unexpected(plan.error());
    Incomplete making(root_, key);
    if (auto done = carry_out(*plan, options, making.path(), deadline, stop); !done) {
      done.error().no_room = is_nearly_full(making.path());  // asked while what was made is still there
      return std::unexpected(std::move(done.error()));
    }
    // The key was computed before: a program of other sources must not lie under it.
    if (!is_unchanged(known->files)) {
      return std::unexpected(
          build_failure("a source, header or library changed while the program was being built", stop));
    }
    const std::chrono::nanoseconds took = Clock::now() - began;
    const fs::path program = making.path() / plan->name;
    const json manifest = {{"key", key},
                           {"name", plan->name},
                           {"flags", to_text(flags)},
                           {"compiler", plan->compiler.version},
                           {"built_unix_ns", space::unix_ns_of(std::chrono::system_clock::now())},
                           {"build_ns", took.count()},
                           {"program_bytes", fs::file_size(program)},
                           {"program_digest", file_digest(program)},
                           {"inputs", known->inputs}};
    std::ofstream(making.path() / kManifest) << manifest.dump(2) << '\n';
    for (const fs::path& path : {program, making.path() / kManifest, making.path()}) flush(path);
    making.take_place_of(folder);
    flush(root_);
    return Artifact{.key = key,
                    .program = folder / plan->name,
                    .built_now = true,
                    .build_time = took,
                    .compiler = plan->compiler.version,
                    .bytes = manifest["program_bytes"].get<std::uintmax_t>()};
  } catch (const fs::filesystem_error& error) {  // a full disk is a failed build, not the end of the campaign
    return std::unexpected(build_failure(error.what(), stop));
  }
}

std::vector<StoredArtifact> ArtifactStore::list() const {
  std::vector<StoredArtifact> artifacts;
  for (const fs::directory_entry& entry : space::entries_of(root_)) {
    const std::string key = entry.path().filename();
    if (!is_key(key)) continue;
    const json manifest = read_manifest(entry.path());
    if (manifest.is_null()) continue;
    StoredArtifact artifact{.key = key, .name = manifest["name"], .flags = manifest["flags"], .folder = entry.path()};
    std::error_code inner;
    for (const fs::directory_entry& file : space::entries_of(entry.path())) {
      std::error_code ignored;
      if (const auto bytes = file.file_size(ignored); !ignored) artifact.bytes += bytes;
    }
    artifact.last_used = std::chrono::file_clock::to_sys(fs::last_write_time(entry.path() / kManifest, inner));
    artifacts.push_back(std::move(artifact));
  }
  std::ranges::sort(artifacts, {}, [](const StoredArtifact& a) { return std::pair(a.last_used, a.key); });
  return artifacts;
}

bool ArtifactStore::remove(const std::string& key) {
  if (!is_key(key)) return false;
  const auto lock = FileLock::try_take(lock_of_name(root_, key));
  std::error_code error;
  if (!lock || !fs::exists(folder_of(key), error)) return false;
  // Renamed first: nobody sees a folder that is half gone, and what a kill leaves is swept.
  const fs::path aside = incomplete_folder(root_, key);
  fs::rename(folder_of(key), aside, error);
  if (error) return false;
  fs::remove_all(aside, error);
  return true;
}

}  // namespace nocturne::measure
