#include "kernels/command/private_view.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

#include "kernels/command/folder_copy.hpp"
#include "kernels/command/mount_table.hpp"
#include "kernels/command/overlay_tree.hpp"
#include "kernels/command/written_files.hpp"

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;

/// So many written files are named, the others counted.
constexpr std::size_t kNamedFiles = 1000;
/// Largest file beside the folder that is copied, where no overlay can cover it: others are written for real.
constexpr std::uintmax_t kOutsideFileBytes = 16 << 20;
/// Longest TMPDIR: Python's multiprocessing, and with it each loader of data, makes sockets 32 characters below it, and
/// the path of a socket has 107 at most.
constexpr std::size_t kLongestTemporary = 75;

fs::path view_folder(const ViewPlan& plan) {
  return plan.run / "view";
}

fs::path copies(const ViewPlan& plan) {
  return view_folder(plan) / "copy";
}

fs::path copy_of_folder(const ViewPlan& plan) {
  return copies(plan) / plan.folder.relative_path();
}

void check_places(const ViewPlan& plan) {
  if (plan.folder == "/") throw std::runtime_error("there is no private view of '/': start in a folder, or --in-place");
  for (const fs::path& share : plan.shares) {
    if (!fs::is_directory(share)) throw std::runtime_error("the shared '" + share.string() + "' is no folder");
    if (is_within(plan.folder, share)) {
      throw std::runtime_error("the shared '" + share.string() + "' holds the command's own folder, of which nothing " +
                               "would be private: use --in-place");
    }
  }
}

// --- caches ---------------------------------------------------------------------------------------------------------

/// Where programs keep what they make or download once: by a variable, else below the home. Empty: by the variable
/// alone.
struct CachePlace {
  const char* variable;
  const char* below_home;
  const char* own = "";  ///< of compiled code: the folder that a run has instead
};

constexpr std::array kDownloads = std::to_array<CachePlace>({{"FASTAI_HOME", ".fastai"},
                                                             {"GENSIM_DATA_DIR", "gensim-data"},
                                                             {"HF_DATASETS_CACHE", ""},
                                                             {"HF_HOME", ""},
                                                             {"HF_HUB_CACHE", ""},
                                                             {"KERAS_HOME", ".keras"},
                                                             {"MXNET_HOME", ".mxnet"},
                                                             {"NLTK_DATA", "nltk_data"},
                                                             {"SCIKIT_LEARN_DATA", "scikit_learn_data"},
                                                             {"TFDS_DATA_DIR", "tensorflow_datasets"},
                                                             {"TORCH_HOME", ""},
                                                             {"XDG_CACHE_HOME", ".cache"}});

/// Inductor's is not among them: what a compiler costs is measured from nothing.
constexpr std::array kCompiled =
    std::to_array<CachePlace>({{"CUDA_CACHE_PATH", ".nv/ComputeCache", "cuda"},
                               {"CUPY_CACHE_DIR", ".cupy/kernel_cache", "cupy"},
                               {"NUMBA_CACHE_DIR", "", "numba"},
                               {"PYTORCH_KERNEL_CACHE_PATH", ".cache/torch/kernels", "pytorch"},
                               {"TORCH_EXTENSIONS_DIR", ".cache/torch_extensions", "extensions"},
                               {"TRITON_CACHE_DIR", ".triton/cache", "triton"}});

/// Absolute and without links; there need not be such a folder. Empty: nothing names one.
fs::path folder_of(const CachePlace& cache) {
  constexpr std::string_view kCaches = ".cache/";
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? fs::path(value) : fs::path();
  };
  fs::path folder = variable(cache.variable);
  const std::string_view below_home = cache.below_home;
  const fs::path caches = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (folder.empty() && !below_home.empty()) {
    const bool moved = caches.is_absolute() && below_home.starts_with(kCaches);
    folder = moved ? caches / below_home.substr(kCaches.size()) : home / below_home;
  }
  std::error_code unreadable;
  if (folder.is_absolute()) folder = fs::weakly_canonical(folder, unreadable);
  return folder.is_absolute() && !unreadable ? folder : fs::path();
}

template <std::size_t kCount>
std::vector<fs::path> folders_of(const std::array<CachePlace, kCount>& caches) {
  std::vector<fs::path> folders;
  for (const CachePlace& cache : caches) folders.push_back(folder_of(cache));
  std::erase(folders, fs::path());
  return folders;
}

/// Those that are there, and neither in the view already nor around it.
std::vector<fs::path> beside(std::vector<fs::path> folders, const ViewPlan& plan) {
  std::erase_if(folders, [&](const fs::path& cache) {
    std::error_code error;
    return !fs::is_directory(cache, error) || is_within(cache, plan.folder) || is_within(plan.folder, cache) ||
           is_within(plan.run, cache);
  });
  return folders;
}

/// Whether a run finds the code that the user's runs have compiled, and keeps its own to itself.
bool finds_compiled(const ViewPlan& plan, const CachePlace& cache) {
  std::error_code error;
  return plan.kind == ViewKind::Overlay && fs::is_directory(folder_of(cache), error);
}

// --- overlay --------------------------------------------------------------------------------------------------------

bool needs_showing(const fs::path& path, const ViewPlan& plan) {
  return plan.covers_outside || is_within(path, plan.folder);
}

/// Covers the folder below `root`, which is "/" or where the new root is being made, and shows through it what is real.
void cover_folder(const ViewPlan& plan, const fs::path& root, OverlayTree& tree) {
  const auto below_root = [&](const fs::path& path) { return root / path.relative_path(); };
  // Without downloads each run would fetch them anew.
  std::vector<fs::path> real = plan.covers_outside ? beside(folders_of(kDownloads), plan) : std::vector<fs::path>();
  std::ranges::copy_if(plan.shares, std::back_inserter(real),
                       [&](const fs::path& share) { return needs_showing(share, plan); });
  std::vector<HeldFolder> held;
  for (const fs::path& folder : real) held.emplace_back(folder);
  const HeldFolder run(plan.run);
  tree.cover(plan.folder, below_root(plan.folder), {.whole = true, .copied_bytes = plan.limit_bytes});
  for (std::size_t place = 0; place < real.size(); ++place) show(held[place].name(), below_root(real[place]));
  for (const fs::path& compiled : beside(folders_of(kCompiled), plan))
    tree.cover_if_possible(compiled, below_root(compiled));
  if (needs_showing(plan.run, plan)) run.show_alone(below_root(plan.run));
}

/// Sockets with a name that processes of this machine have open. Through an overlay nobody is reached by them.
std::set<fs::path> named_sockets() {
  std::set<fs::path> sockets;
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    const std::size_t path = line.find(" /");
    std::error_code error;
    if (path != std::string::npos && fs::is_socket(line.substr(path + 1), error)) sockets.insert(line.substr(path + 1));
  }
  return sockets;
}

/// A root in which everything that this user may write is covered, but for caches and shares.
void enter_covered_root(const ViewPlan& plan, const fs::path& layers, OverlayTree& tree) {
  const fs::path root = layers / "root";
  fs::create_directory(root);
  tree.cover("/", root, {.whole = false, .copied_bytes = kOutsideFileBytes});
  cover_folder(plan, root, tree);
  for (const fs::path& socket : named_sockets()) {
    try {
      show(socket, root / socket.relative_path());
    } catch (const std::exception&) {  // nobody is reached by it
    }
  }
  change_root(root);
}

OverlayState enter_layers(const ViewPlan& plan, const fs::path& layers) {
  fs::create_directories(layers);
  enter_namespace();
  std::string uncovered;
  if (plan.covers_outside) {
    try {
      const fs::path covered = layers / "covered";
      fs::create_directory(covered);
      OverlayTree tree(covered);
      enter_covered_root(plan, covered, tree);
      return tree.state();
    } catch (const std::exception& error) {
      uncovered = std::string("what it writes beside its folder is real, and not told: ") + error.what();
    }
  }
  ViewPlan plain = plan;
  plain.covers_outside = false;
  OverlayTree tree(layers);
  cover_folder(plain, "/", tree);
  OverlayState state = tree.state();
  if (!uncovered.empty()) state.notes.push_back(uncovered);
  return state;
}

/// Tries it in a process that ends then. Empty: it works.
std::string refusal_of_overlay(ViewPlan plan) {
  plan.covers_outside = false;
  const fs::path layers = view_folder(plan) / "attempt";
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::strerror(errno);
  const pid_t attempt = ::fork();
  if (attempt == 0) {
    std::string reason;
    try {
      enter_layers(plan, layers);
    } catch (const std::exception& error) {
      reason = error.what();
    }
    ::_exit(::write(ends[1], reason.data(), reason.size()) < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string reason;
  std::array<char, 512> piece;
  for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) != 0;) {
    if (count > 0) reason.append(piece.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 1;
  if (attempt > 0) ::waitpid(attempt, &status, 0);
  if (reason.empty() && status != 0) reason = "no process could try it";
  make_removable(layers);
  fs::remove_all(layers);
  return reason;
}

// --- copy -----------------------------------------------------------------------------------------------------------

std::vector<fs::path> left_out_of_copy(const ViewPlan& plan) {
  std::vector<fs::path> all = plan.shares;
  all.push_back(plan.run);
  return all;
}

/// Something of the first 10,000 files that this user may change, but not in an overlay: it belongs to another user or
/// group, who is not known in the user namespace. Empty: nothing.
fs::path foreign_in(const fs::path& folder) {
  if (::geteuid() == 0) return {};
  const auto is_foreign = [](const fs::path& path) {
    struct stat state{};
    return ::lstat(path.c_str(), &state) == 0 && !S_ISLNK(state.st_mode) && ::access(path.c_str(), W_OK) == 0 &&
           (state.st_uid != ::geteuid() || state.st_gid != ::getegid());
  };
  int left = 10'000;
  std::error_code unreadable;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, unreadable);
  for (; !unreadable && entry != fs::recursive_directory_iterator() && left > 0; entry.increment(unreadable), --left)
    if (is_foreign(entry->path())) return entry->path();
  return {};
}

void make_copy(ViewPlan& plan) {
  link_surroundings(plan.folder, copies(plan));
  const auto refused = copy_folder(plan.folder, copy_of_folder(plan),
                                   {.limit_bytes = plan.limit_bytes, .shared = plan.shares, .left_out = plan.run});
  plan.notes.push_back("it runs in a copy of '" + plan.folder.string() +
                       "': absolute paths into that folder, in its arguments or its files, are not turned to the copy, "
                       "and what it writes there is real");
  for (const fs::path& file : refused) plan.notes.push_back("not in the copy: " + file.string() + " is no file");
  if (plan.covers_outside)
    plan.notes.emplace_back("what it writes beside its folder is real, and not told: that takes an overlay");
}

// --- what was written -----------------------------------------------------------------------------------------------

/// "temporary" and "cache": what nobody keeps, and what is made again. Who trains in /tmp keeps files there.
std::string_view kind_of(const fs::path& path, const ViewPlan& plan) {
  for (const char* scratch : {"/tmp", "/var/tmp"})
    if (is_within(path, scratch) && !is_within(plan.folder, scratch)) return "temporary";
  const bool cached = path.parent_path().filename() == "__pycache__" ||
                      std::ranges::any_of(plan.caches, [&](const fs::path& each) { return is_within(path, each); });
  return cached ? "cache" : "file";
}

nlohmann::json entry_of(const WrittenFile& file, const std::string& path) {
  if (file.deleted) return {{"path", path}, {"deleted", true}};
  nlohmann::json entry = {{"path", path}, {"bytes", file.bytes}};
  if (file.made_unix_ns != 0) entry["made_unix_ns"] = file.made_unix_ns;
  return entry;
}

nlohmann::json record_of(const ViewPlan& plan, const WrittenFiles& files, const std::vector<std::string>& notes) {
  nlohmann::json written = nlohmann::json::array(), outside = nlohmann::json::array();
  std::size_t more = 0;
  for (const WrittenFile& file : files) {
    const bool inside = is_within(file.path, plan.folder);
    nlohmann::json& list = inside ? written : outside;
    if (list.size() == kNamedFiles) {
      ++more;
      continue;
    }
    list.push_back(entry_of(file, (inside ? file.path.lexically_relative(plan.folder) : file.path).string()));
    if (!inside) list.back()["kind"] = kind_of(file.path, plan);
  }
  return {{"version", 1},
          {"kind", plan.kind == ViewKind::Copy ? "copy" : "overlay"},
          {"folder", plan.folder.string()},
          {"written", written},
          {"outside", outside},
          {"more", more},
          {"notes", notes}};
}

std::string as_uri(const fs::path& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char each : path.string()) {
    if (kPlain.find(each) != std::string_view::npos) {
      uri += each;
    } else {
      const auto byte = static_cast<unsigned char>(each);
      (uri += '%').append({kDigits[byte / 16], kDigits[byte % 16]});
    }
  }
  return uri;
}

constexpr std::string_view kTemporaryLink = "nocturne-";

/// A run that is killed leaves its link. Removes those of this user whose run's folder is gone, and nothing else: a
/// link is made after its folder.
void remove_dangling_links() {
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator("/tmp", unreadable)) {
    const std::string name = entry.path().filename().string();
    struct stat state{};
    if (!name.starts_with(kTemporaryLink) || ::lstat(entry.path().c_str(), &state) != 0) continue;
    if (!S_ISLNK(state.st_mode) || state.st_uid != ::geteuid()) continue;
    std::error_code error;
    const fs::path folder = fs::read_symlink(entry.path(), error);
    const bool of_run = !error && folder.filename() == "tmp" &&
                        folder.parent_path().filename().string().ends_with(name.substr(kTemporaryLink.size()));
    if (of_run && !fs::exists(folder, error) && !error) fs::remove(entry.path(), error);
  }
}

/// The run's own folder for temporary files, by a link where its path is too long.
fs::path temporary_folder(const fs::path& run) {
  const fs::path folder = run / "tmp";
  if (folder.native().size() <= kLongestTemporary) return folder;
  remove_dangling_links();
  const std::string name = run.filename().string();
  const std::size_t kept = std::min<std::size_t>(name.size(), 12);
  const fs::path link = fs::path("/tmp") / (std::string(kTemporaryLink) + name.substr(name.size() - kept));
  std::error_code taken;
  fs::create_symlink(folder, link, taken);
  return taken ? folder : link;
}

/// Makes the copy if there is to be one.
void settle(ViewPlan& plan) {
  if (plan.kind == ViewKind::Copy) make_copy(plan);
  if (plan.kind != ViewKind::Auto) return;
  const std::string refusal = refusal_of_overlay(plan);
  if (!refusal.empty()) plan.notes.push_back("this system allows no overlay: " + refusal);
  const fs::path foreign = refusal.empty() ? foreign_in(plan.folder) : fs::path();
  if (!foreign.empty())
    plan.notes.push_back("'" + foreign.string() + "' belongs to another user or group: no overlay lets it be changed");
  plan.kind = ViewKind::Copy;
  if (!refusal.empty()) return make_copy(plan);
  try {
    if (!foreign.empty()) return make_copy(plan);
  } catch (const std::exception& too_large) {
    fs::remove_all(copies(plan));
    plan.notes.emplace_back(too_large.what());
  }
  plan.kind = ViewKind::Overlay;
}

}  // namespace

ViewPlan prepare_view(ViewPlan plan) {
  if (plan.kind == ViewKind::None) return plan;
  plan.folder = fs::canonical(plan.folder.empty() ? fs::path(".") : plan.folder);
  plan.run = fs::canonical(plan.run.empty() ? fs::path(".") : plan.run);
  for (fs::path& share : plan.shares) share = fs::canonical(share);
  check_places(plan);
  for (const char* folder : {"view", "tmp", "cache", "trackers"}) fs::create_directories(plan.run / folder);
  settle(plan);
  plan.caches = folders_of(kDownloads);
  std::ranges::copy(folders_of(kCompiled), std::back_inserter(plan.caches));
  for (const CachePlace& cache : kCompiled) {
    const fs::path place = folder_of(cache);
    if (!place.empty() && !finds_compiled(plan, cache)) plan.own_caches[plan.run / "cache" / cache.own] = place;
  }
  plan.temporary = temporary_folder(plan.run);
  return plan;
}

std::map<std::string, std::string> view_environment(const ViewPlan& plan) {
  if (plan.kind == ViewKind::None) return {};
  const auto own = [&](const char* folder, const char* name) { return (plan.run / folder / name).string(); };
  std::map<std::string, std::string> variables = {
      {"TMPDIR", plan.temporary.string()},
      {"TORCHINDUCTOR_CACHE_DIR", own("cache", "inductor")},
      {"MPLBACKEND", "Agg"},  // plots open no window, and wait for nobody
      // Experiment trackers.
      {"CLEARML_OFFLINE_MODE", "1"},
      {"COMET_OFFLINE_DIRECTORY", own("trackers", "comet")},
      {"COMET_START_ONLINE", "0"},
      {"HF_HUB_DISABLE_TELEMETRY", "1"},
      {"MLFLOW_ALLOW_FILE_STORE", "true"},  // newer ones want to be told
      {"MLFLOW_TRACKING_URI", as_uri(plan.run / "trackers" / "mlruns")},
      {"NEPTUNE_MODE", "offline"},
      {"WANDB_DIR", (plan.run / "trackers").string()},
      {"WANDB_MODE", "offline"},
  };
  for (const CachePlace& cache : kCompiled)
    if (!finds_compiled(plan, cache)) variables[cache.variable] = own("cache", cache.own);
  // Without it, JAX keeps no compiled code.
  if (std::getenv("JAX_COMPILATION_CACHE_DIR") != nullptr) variables["JAX_COMPILATION_CACHE_DIR"] = own("cache", "jax");
  for (const char* mode : {"NEPTUNE_MODE", "WANDB_MODE"}) {
    const char* wanted = std::getenv(mode);
    if (wanted != nullptr && std::string_view(wanted) == "disabled") variables.erase(mode);
  }
  return variables;
}

fs::path start_folder(const ViewPlan& plan) {
  return plan.kind == ViewKind::Copy ? copy_of_folder(plan) : plan.folder;
}

void enter_view(const ViewPlan& plan) {
  if (plan.kind != ViewKind::Overlay) return;
  const OverlayState state = enter_layers(plan, view_folder(plan) / "layers");
  std::ofstream file(view_folder(plan) / "layers.json");
  file << to_json(state).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (!file.flush()) throw std::runtime_error("cannot write '" + (view_folder(plan) / "layers.json").string() + "'");
}

void record_view(const ViewPlan& plan) {
  if (plan.kind == ViewKind::None) return;
  for (const char* folder : {"view", "tmp"}) make_removable(plan.run / folder);
  if (fs::is_symlink(plan.temporary)) fs::remove(plan.temporary);
  WrittenFiles files;
  std::vector<std::string> notes = plan.notes;
  if (plan.kind == ViewKind::Copy) {
    files = written_in_copy(copies(plan), plan.folder, left_out_of_copy(plan));
  } else {
    std::ifstream layers(view_folder(plan) / "layers.json");
    const OverlayState state = overlay_state_from(nlohmann::json::parse(layers));
    files = written_in(state);
    notes.insert(notes.end(), state.notes.begin(), state.notes.end());
  }
  for (const auto& [own, place] : plan.own_caches)
    std::ranges::copy(written_below(own, place), std::back_inserter(files));
  std::ofstream file(plan.run / "view.json");
  file << record_of(plan, files, notes).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write '" + (plan.run / "view.json").string() + "'");
}

}  // namespace nocturne::command
