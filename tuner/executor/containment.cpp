#include "tuner/executor/containment.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "measure/container/container.hpp"
#include "measure/container/image_form.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "space/digest.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

std::unexpected<PreparationFailure> refuse_container(space::Outcome outcome, std::string reason,
                                                     std::string log_tail = {}) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), std::move(log_tail)});
}

std::string name_of_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : "nobody";
}

// The image has its own: mounting the host's over them would undo it.
constexpr std::array<std::string_view, 9> kOfTheSystem = {"/usr", "/bin", "/sbin", "/lib", "/lib64",
                                                          "/etc", "/dev", "/proc", "/sys"};

bool is_of_the_system(const fs::path& path) {
  if (measure::lies_in(path, "/usr/local")) return false;
  return std::ranges::any_of(kOfTheSystem, [&](std::string_view folder) { return measure::lies_in(path, folder); });
}

// A folder directly below / holds too much to be handed over for one file's sake.
fs::path folder_or_file(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return std::distance(folder.begin(), folder.end()) > 2 ? folder : file;
}

/// Reads the line "home = /usr/bin" of pyvenv.cfg; empty where there is none.
fs::path home_of(const fs::path& configuration) {
  std::ifstream in(configuration);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || !line.starts_with("home")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", equals + 1);
    return begin == std::string::npos ? fs::path() : fs::path(line.substr(begin));
  }
  return {};
}

/// PREFIX of PREFIX/bin/PROGRAM, else the program's folder or itself.
fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return folder.filename() == "bin" && std::distance(folder.begin(), folder.end()) > 3 ? folder.parent_path()
                                                                                       : folder_or_file(program);
}

}  // namespace

void remove_old_mount_points(const fs::path& root, const fs::path& runs) {
  constexpr std::chrono::hours kBetweenPlanAndRun{24};
  std::error_code ignored;
  for (const fs::directory_entry& place : space::entries_of(root / runs.relative_path(), ignored)) {
    const auto age = fs::file_time_type::clock::now() - place.last_write_time(ignored);
    if (fs::exists(runs / place.path().filename(), ignored) || age < kBetweenPlanAndRun) continue;
    fs::remove(place.path(), ignored);  // only an empty one
  }
}

const Containment::Runtime& Containment::look_at(const measure::ContainerRuntime& runtime) {
  // Asking a runtime starts its programs: once a session is enough.
  const auto known = runtimes_.find(runtime.name());
  if (known != runtimes_.end()) return known->second;
  Runtime state{.obstacle = runtime.obstacle(), .version = {}};
  if (state.obstacle.empty()) {
    state.version = runtime.version();
    const measure::ContainerRuntime* pointer = &runtime;
    // Containers that a killed session left hold memory and cores.
    static_cast<void>(measure::sweep_containers({&pointer, 1}));
  }
  return runtimes_[std::string(runtime.name())] = std::move(state);
}

std::expected<measure::ContainerImage, PreparationFailure> Containment::obtain(const std::string& name,
                                                                               const std::string& form,
                                                                               const measure::ContainerRuntime& runtime,
                                                                               const std::stop_token& stop) {
  const std::string row = fmt::format("{} {} {}", runtime.name(), name, form);
  if (const auto* known = failed_.find(row)) return std::unexpected(*known);
  const auto remember = [&](PreparationFailure failure) {
    failed_.remember(row, failure);
    return std::unexpected(std::move(failure));
  };
  if (options_.images_folder.empty())
    return remember({space::Outcome::Unsupported, "images have no folder here: only container=host works", {}});
  const auto recipe = measure::find_image_recipe(name, options_.recipes);
  if (!recipe) return remember({space::Outcome::Unsupported, recipe.error(), {}});
  try {
    if (!store_) store_.emplace(options_.images_folder);
  } catch (const fs::filesystem_error& error) {
    return remember({space::Outcome::BuildFailed, error.what(), {}});
  }
  auto image = store_->obtain(*recipe, runtime, {.progress = options_.progress, .form = form}, stop);
  if (image) {
    failed_.forget(row);
    return *image;
  }
  measure::ImageFailure& failure = image.error();
  const auto outcome = failure.unsupported ? space::Outcome::Unsupported : space::Outcome::BuildFailed;
  if (failure.interrupted) failure.reason = fmt::format("the making of the image {} was cut", name);
  return remember({failure.interrupted ? space::Outcome::Killed : outcome, std::move(failure.reason),
                   std::move(failure.log_tail), failure.no_room, failure.unreachable});
}

std::expected<std::vector<measure::ContainerMount>, std::string> Containment::mounts_of(
    const PreparedWorker& prepared, const measure::ContainerImage& image,
    const measure::ContainerRuntime& runtime) const {
  ContainedPaths paths(image);
  // Each path keeps its name inside, so that the words of the command line mean the same in both places.
  paths.add(options_.installation.onednn_prefix);
  paths.add(prepared.library);
  paths.add(options_.installation.source_root / "kernels");
  paths.add(options_.installation.source_root / "examples" / "data");
  paths.add(options_.data_folder);
  if (prepared.compile_cache.is_absolute()) {
    std::error_code error;
    fs::create_directories(prepared.compile_cache, error);
    paths.add(prepared.compile_cache, /*writable=*/true);
  }
  std::vector<std::string> words = prepared.argv;
  if (!prepared.image.empty()) words.front().clear();  // that program is the image's own
  if (auto added = paths.add_command(words); !added) return std::unexpected(std::move(added.error()));
  for (const fs::path& library : prepared.launch.preload)
    if (auto added = paths.add_library(library, runtime); !added) return std::unexpected(std::move(added.error()));
  return paths.mounts();
}

std::expected<void, PreparationFailure> Containment::prepare(const space::Configuration& configuration,
                                                             PreparedWorker& prepared, const std::stop_token& stop) {
  const std::string container = configuration.text_of("container", "host");
  if (container == "host") return {};
  const measure::ContainerRuntime* runtime = measure::find_container_runtime(container);
  if (runtime == nullptr) {
    return refuse_container(
        space::Outcome::Unsupported,
        fmt::format("container is '{}'; known are host, charliecloud, apptainer, podman, docker", container));
  }
  const Runtime& state = look_at(*runtime);
  if (!state.obstacle.empty())
    return refuse_container(space::Outcome::Unsupported, fmt::format("container {}: {}", container, state.obstacle));
  const std::string image_name = prepared.image.empty() ? configuration.text_of("image", "debian-12") : prepared.image;
  auto image = obtain(image_name, configuration.text_of("image_form", measure::kFolderForm), *runtime, stop);
  if (!image) return std::unexpected(std::move(image.error()));
  // What was compiled and linked outside, or in another image, need not run in this one.
  if (prepared.compile_cache.is_absolute()) prepared.compile_cache += "-" + space::sha256(image->digest).substr(0, 12);
  auto mounts = mounts_of(prepared, *image, *runtime);
  if (!mounts) return refuse_container(space::Outcome::Unsupported, std::move(mounts.error()));
  // Such a runtime binds only onto what is there, and the image's folder is shared by all runs.
  const bool in_file = !runtime->makes_mount_points() && !image->file.empty();
  if (!runtime->makes_mount_points() && !image->root.empty())
    remove_old_mount_points(image->root, options_.runs_folder);
  // Another runtime or image is another measurement: trials of it are not taken for those of the host.
  prepared.worker = space::sha256(fmt::format("{}\n{} {}\n{}{}", prepared.worker, container, state.version,
                                              image->digest, image->form.empty() ? "" : "\n" + image->form));
  const ContainerPlace contained{.runtime = runtime,
                                 .image = std::move(*image),
                                 .mounts = std::move(*mounts),
                                 .gpu = configuration.text_of("device", "cpu") != "cpu",
                                 .runs = in_file ? options_.runs_folder : fs::path()};

  measure::RunPlan trial;  // what this one lets pass, a run's own lets pass too
  trial.id = "trial";
  trial.folder = options_.runs_folder / trial.id;
  trial.argv = prepared.argv;
  trial.environment = prepared.launch.variables();
  trial.memory = prepared.launch.memory;
  if (const auto passed = contained_plan(std::move(trial), contained); !passed)
    return refuse_container(space::Outcome::Unsupported, fmt::format("container {}: {}", container, passed.error()));
  prepared.contained = std::make_shared<const ContainerPlace>(contained);
  return {};
}

namespace {

std::vector<measure::ContainerMount> mounts_of_run(const measure::RunPlan& plan, const ContainerPlace& contained) {
  std::vector<measure::ContainerMount> mounts = contained.mounts;
  mounts.push_back({.path = contained.runs.empty() ? plan.folder : contained.runs, .writable = true});
  // Weights and batches to begin with, that another run wrote into its folder.
  if (plan.request.initial)
    mounts.push_back({.path = std::filesystem::path(*plan.request.initial).parent_path(), .writable = false});
  return measure::least_mounts(std::move(mounts));
}

}  // namespace

std::expected<measure::RunPlan, std::string> contained_command(measure::RunPlan plan, const ContainerPlace& contained,
                                                               const std::string& owner) {
  measure::ContainerOrder order;
  order.run_id = plan.id;
  order.owner = owner;
  order.argv = plan.argv;
  order.mounts = mounts_of_run(plan, contained);
  order.variables = plan.environment;
  // Its home outside is not there; what frameworks keep in it belongs to the run.
  order.variables.emplace("HOME", plan.folder.string());
  order.cpus = plan.cpus;
  order.memory = plan.memory;
  order.folder = plan.folder;
  order.memory_limit_bytes = plan.memory_limit_bytes.value_or(0);
  order.gpu = contained.gpu;
  // Inside it is the same user: what it writes into the run's folder is ours to read and to remove.
  order.user = name_of_user();
  order.uid = ::geteuid();
  order.gid = ::getegid();
  auto command = contained.runtime->command(contained.image, order);
  if (!command) return std::unexpected(std::move(command.error()));
  plan.argv = std::move(command->argv);
  plan.environment = std::move(command->variables);
  plan.apart = command->apart;
  plan.clean_up = std::move(command->clean_up);
  // The caller's own would be loaded into the runtime's programs.
  if (std::ranges::find(plan.unset, "LD_PRELOAD") == plan.unset.end()) plan.unset.emplace_back("LD_PRELOAD");
  return plan;
}

std::expected<measure::RunPlan, std::string> contained_plan(measure::RunPlan plan, const ContainerPlace& contained) {
  if (auto made = measure::shape_image(contained.image, *contained.runtime, mounts_of_run(plan, contained)); !made)
    return std::unexpected(std::move(made.error()));
  return contained_command(std::move(plan), contained, measure::ProcessIdentity::of_this_process().to_text());
}

std::vector<fs::path> folders_of_program(const fs::path& program) {
  const fs::path environment = program.parent_path().parent_path();
  std::error_code error;
  if (!fs::is_regular_file(environment / "pyvenv.cfg", error)) return {folder_or_file(program)};
  std::vector<fs::path> folders = {environment};
  // The link may lead through others, and to another place than the one the environment was made from.
  if (const fs::path home = home_of(environment / "pyvenv.cfg"); !home.empty()) {
    // An environment holds no interpreter: its python is a link to this one, whose library it needs as well.
    folders.push_back(prefix_of(home / "python3"));
  }
  fs::path link = program;
  for (int hops = 0; hops < 10 && fs::is_symlink(link, error); ++hops) {
    const fs::path target = fs::read_symlink(link, error);
    link = (link.parent_path() / target).lexically_normal();
    if (!measure::lies_in(link, environment)) folders.push_back(prefix_of(link));
  }
  return folders;
}

bool ContainedPaths::may_be_inside(const fs::path& path) const {
  if (image_.root.empty()) return true;
  // Links of the image are absolute as often as not, and then lead out of it: their being there is enough.
  std::error_code error;
  fs::path place = image_.root / path.relative_path();
  if (fs::is_symlink(place, error)) return true;
  if (fs::exists(place, error)) return fs::is_directory(place, error) || fs::file_size(place, error) > 0;
  // Debian's /bin and /lib lead to /usr.
  place = image_.root / "usr" / path.relative_path();
  return fs::exists(place, error);
}

void ContainedPaths::add(const fs::path& path, bool writable) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return;
  const fs::path spelled = path.lexically_normal();
  if (is_of_the_system(spelled)) return;
  mounts_.push_back({.path = spelled, .writable = writable});
  const fs::path real = fs::canonical(spelled, error);
  if (!error && real != spelled && !is_of_the_system(real)) mounts_.push_back({.path = real, .writable = writable});
}

std::expected<void, std::string> ContainedPaths::add_program_folder(const fs::path& path) {
  if (!is_of_the_system(path)) {
    add(path);
    return {};
  }
  if (may_be_inside(path)) return {};
  return std::unexpected(fmt::format("the image {} has no {}: its packages must bring it, or the worker use another",
                                     image_.name, path.string()));
}

std::expected<void, std::string> ContainedPaths::add_command(const std::vector<std::string>& argv) {
  bool is_program = true;
  for (const std::string& word : argv) {
    const bool first = std::exchange(is_program, false);
    const fs::path path(word);
    std::error_code error;
    if (!path.is_absolute() || !fs::exists(path, error)) continue;
    std::vector<fs::path> folders;
    if (first)
      folders = folders_of_program(path.lexically_normal());
    else
      folders = {fs::is_directory(path, error) ? path : folder_or_file(path)};
    if (first && is_of_the_system(path)) folders = {path};
    for (const fs::path& folder : folders)
      if (auto added = add_program_folder(folder); !added) return added;
  }
  return {};
}

std::expected<void, std::string> ContainedPaths::add_library(const fs::path& library,
                                                             const measure::ContainerRuntime& runtime) {
  if (!image_.root.empty() && may_be_inside(library)) return {};
  if (runtime.makes_mount_points()) {
    mounts_.push_back({.path = library, .writable = false});
    return {};
  }
  return std::unexpected(
      fmt::format("{} is to be preloaded, and the image {} does not have it: a recipe with its "
                  "package would bring it",
                  library.string(), image_.name));
}

}  // namespace nocturne::tuner
