#include "tuner/deploy/container.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "measure/container/image_store.hpp"
#include "measure/container/runtimes.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;

std::expected<tuner::ContainerPlace, std::string> place_of(const ProfileContainer& container) {
  const measure::ContainerRuntime* runtime = measure::find_container_runtime(container.runtime);
  if (runtime == nullptr) return std::unexpected(fmt::format("no container runtime is called '{}'", container.runtime));
  return tuner::ContainerPlace{.runtime = runtime,
                               .image = {.name = container.image,
                                         .digest = container.digest,
                                         .root = container.root,
                                         .reference = container.reference,
                                         .form = container.form,
                                         .file = container.file},
                               .mounts = container.mounts,
                               .gpu = container.gpu};
}

/// Ids are printed with and without the kind of digest in front.
std::string_view digits_of(std::string_view id) {
  constexpr std::string_view kKind = "sha256:";
  return id.starts_with(kKind) ? id.substr(kKind.size()) : id;
}

std::string verify_command() {
  return tuner::command_text({"verify", "PROFILE"});
}

std::string obstacle_of_stored(const ProfileContainer& container, const measure::ContainerRuntime& runtime) {
  const auto id = measure::ask_tool(runtime.identify_command(container.reference), std::chrono::seconds(20));
  if (!id) {
    return fmt::format("the image {} is not in {}'s storage as it was measured ({}): '{}' makes it again",
                       container.image, container.runtime, id.error(), verify_command());
  }
  if (digits_of(*id) == digits_of(container.reference)) return {};
  return fmt::format("the image {} is another one than was measured: it is {} here and was {}", container.image, *id,
                     container.reference);
}

std::string obstacle_of_folder(const ProfileContainer& container) {
  std::error_code error;
  if (!fs::is_directory(container.root, error)) {
    return fmt::format("the image {} is not in {}: '{}' makes it again", container.image, container.root.string(),
                       verify_command());
  }
  const std::string now =
      container.by_packages ? measure::digest_of_packages(container.root) : measure::digest_of_files(container.root);
  if (now == container.digest) return {};
  return fmt::format("the image {} is another one than was measured: {} is {} here and was {}", container.image,
                     container.root.string(), now.empty() ? "without packages" : now, container.digest);
}

/// Stand for what a script knows only when it runs. None is part of any text of the profile.
struct Places {
  std::string output, data, process;

  explicit Places(const std::string& document) {
    std::string mark = "nocturne-place";
    while (document.contains(mark)) mark += "-x";
    output = "/" + mark + "-output";
    data = "/" + mark + "-data";
    process = mark + "-process";
  }
};

/// A word of the script in which the places are its variables.
std::string word_with_places(std::string_view word, const Places& places) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> known = {
      {{places.output, "\"$output\""}, {places.data, "\"$data\""}, {places.process, "$$"}}};
  std::string text;
  while (!word.empty()) {
    std::size_t at = word.size();
    const std::pair<std::string_view, std::string_view>* next = nullptr;
    for (const auto& place : known)
      if (const std::size_t found = word.find(place.first); found < at) std::tie(at, next) = std::pair{found, &place};
    if (at > 0) text += shell_quote(word.substr(0, at));
    if (next == nullptr) break;
    text += next->second;
    word.remove_prefix(at + next->first.size());
  }
  return text.empty() ? "''" : text;
}

/// The image is the one that was measured.
std::string check_lines(const ProfileContainer& container, const measure::ContainerRuntime& runtime) {
  const std::string other = shell_quote(fmt::format(
      "the image {} is missing, or another one than was measured: nocturne verify makes it again", container.image));
  std::string text;
  if (!container.reference.empty()) {
    text += fmt::format("id=$({} 2>/dev/null) || id=\n", shell_command(runtime.identify_command(container.reference)));
    return text + fmt::format("[ \"${{id#sha256:}}\" = {} ] || fail {} 5\n",
                              shell_quote(digits_of(container.reference)), other);
  }
  text += fmt::format("[ -d \"$image\" ] || fail {} 5\n", other);
  if (!container.file.empty())
    text += fmt::format("[ -r {} ] || fail {} 5\n", shell_quote(container.file.string()), other);
  if (!container.by_packages) return text + "# Over all its files its digest is checked by nocturne apply alone.\n";
  text +=
      "digest=$(awk '/^Package: /{name=substr($0,10)} /^Version: /{version=substr($0,10)}\n"
      "  /^$/{if (name != \"\") print name \"=\" version; name=\"\"}' \"$image/var/lib/dpkg/status\" |\n"
      "  LC_ALL=C sort | sha256sum)\n";
  return text + fmt::format("[ \"sha256:${{digest%% *}}\" = {} ] || fail {} 5\n", shell_quote(container.digest), other);
}

/// Where the image must have the places for mounts before; a file that lacks one is made anew.
std::string place_lines(const tuner::ContainerPlace& contained, const Places& places) {
  if (contained.runtime->makes_mount_points() || contained.image.root.empty()) return {};
  const bool in_file = !contained.image.file.empty();
  std::string text = in_file ? "grown=\n" : "";
  text += "for place in \"$output\" \"$data\"";
  for (const auto& mount : contained.mounts) text += " " + shell_quote(mount.path.string());
  text += "; do\n";
  if (in_file)
    text += fmt::format("  case $place in {0}|{0}/*) continue ;; esac\n", contained.runtime->shared_folder());
  text += "  if [ -e \"$image$place\" ]; then continue; fi\n";
  if (in_file) text += "  grown=1\n";
  text +=
      "  if [ -d \"$place\" ]; then mkdir -p -- \"$image$place\"; continue; fi\n"
      "  mkdir -p -- \"$image${place%/*}\"\n"
      "  : > \"$image$place\"\n"
      "done\n";
  if (!in_file) return text;
  const std::string file = contained.image.file.string();
  std::string make;
  for (const std::string& word : contained.runtime->form_command(contained.image.root, file + "." + places.process))
    make += word_with_places(word, places) + " ";
  return text + fmt::format(
                    "if [ -n \"$grown\" ]; then\n  {}>/dev/null || fail 'the image cannot be made anew' 5\n"
                    "  mv -f -- {} {}\nfi\n",
                    make, word_with_places(file + "." + places.process, places), shell_quote(file));
}

/// A mount of $output or $data, which is left out where the folder is inside already.
bool is_mount_of_place(const std::string& word, const Places& places) {
  return word.starts_with("--bind=") && (word.contains(places.output) || word.contains(places.data));
}

}  // namespace

ProfileContainer container_of_place(const tuner::ContainerPlace& contained, std::string version) {
  ProfileContainer container{.runtime = std::string(contained.runtime->name()),
                             .version = std::move(version),
                             .image = contained.image.name,
                             .digest = contained.image.digest,
                             .root = contained.runtime->keeps_images() ? fs::path() : contained.image.root,
                             .reference = contained.image.reference,
                             .form = contained.image.form,
                             .file = contained.image.file,
                             .mounts = contained.mounts,
                             .gpu = contained.gpu};
  container.by_packages =
      !container.root.empty() && measure::digest_of_packages(container.root) == contained.image.digest;
  return container;
}

bool program_is_inside(const Profile& profile) {
  return profile.container && std::ranges::none_of(profile.container->mounts, [&](const auto& mount) {
           return measure::lies_in(profile.training.program, mount.path);
         });
}

std::string obstacle_of(const ProfileContainer& container) {
  const auto place = place_of(container);
  if (!place) return place.error();
  if (const std::string obstacle = place->runtime->obstacle(); !obstacle.empty())
    return fmt::format("it was measured in the container {}: {}", container.runtime, obstacle);
  return container.reference.empty() ? obstacle_of_folder(container) : obstacle_of_stored(container, *place->runtime);
}

void put_inside(const ProfileContainer& container, const std::vector<fs::path>& read, ApplyPlan& plan,
                const fs::path& written) {
  if (std::string obstacle = obstacle_of(container); !obstacle.empty()) {
    plan.objections.push_back(std::move(obstacle));
    return;
  }
  tuner::ContainerPlace contained = *place_of(container);
  if (const std::string version = contained.runtime->version(); version != container.version) {
    plan.warnings.push_back(fmt::format("{} is {} here and was {} where the profile was measured", container.runtime,
                                        version, container.version));
  }
  tuner::ContainedPaths paths(contained.image);
  for (const fs::path& path : read) paths.add(path);
  paths.add(written, /*writable=*/true);
  if (auto added = paths.add_command(plan.argv); !added) plan.objections.push_back(std::move(added.error()));
  for (measure::ContainerMount& mount : paths.mounts()) contained.mounts.push_back(std::move(mount));
  measure::RunPlan run;
  run.id = fmt::format("apply-{}", ::getpid());
  run.folder = plan.working_folder.empty() ? fs::current_path() : plan.working_folder;
  run.argv = plan.argv;
  run.environment = plan.set;
  run.unset = plan.unset;
  run.cpus = plan.cpus;
  run.memory = plan.memory;
  auto inside = tuner::contained_plan(std::move(run), contained);
  if (!inside) {
    plan.objections.push_back(fmt::format("container {}: {}", container.runtime, inside.error()));
    return;
  }
  plan.argv = std::move(inside->argv);
  plan.set = std::move(inside->environment);
  plan.unset = std::move(inside->unset);
  plan.clean_up = std::move(inside->clean_up);
}

std::expected<std::string, std::string> contained_lines(const Profile& profile) {
  const ProfileContainer& container = *profile.container;
  auto contained = place_of(container);
  if (!contained) return std::unexpected(contained.error());
  const Places places(to_json(profile).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  measure::RunPlan run;
  run.id = "script-" + places.process;
  run.folder = places.output;
  run.argv = {profile.training.program.string()};
  run.argv.insert(run.argv.end(), profile.training.arguments.begin(), profile.training.arguments.end());
  run.argv.insert(run.argv.end(),
                  {"--request", places.output + "/request.json", "--events", places.output + "/events.jsonl"});
  for (const auto& [name, value] : profile.launch.variables())
    if (is_variable_name(name)) run.environment[name] = value;
  run.unset = profile.launch.unset;
  run.cpus = profile.launch.cpus;
  run.memory = profile.launch.memory;
  tuner::ContainerPlace with_data = *contained;
  with_data.mounts.push_back({.path = places.data});
  const auto inside = tuner::contained_command(std::move(run), with_data, "script");
  if (!inside) return std::unexpected(inside.error());

  std::string text =
      "case $output$data in *[:,\\\"]*) fail \"a container cannot be given a path with one of : , or a quotation "
      "mark\" 5 ;; esac\n";
  const std::string& tool = inside->argv.front();
  text += fmt::format("command -v {0} >/dev/null || fail {1} 5\n", shell_quote(tool),
                      shell_quote(fmt::format("{} is missing, in which it was measured", tool)));
  if (!container.root.empty()) text += fmt::format("image={}\n", shell_quote(container.root.string()));
  text += check_lines(container, *contained->runtime) + place_lines(*contained, places);
  for (const std::string& name : inside->unset)
    if (is_variable_name(name)) text += "unset " + name + "\n";
  for (const auto& [name, value] : inside->environment)
    text += fmt::format("export {}={}\n", name, word_with_places(value, places));
  text += "set --\n";
  std::string words;
  const auto flush = [&] {
    if (!words.empty()) text += "set -- \"$@\"" + std::exchange(words, {}) + "\n";
  };
  const std::string_view shared = contained->runtime->shared_folder();
  for (const std::string& word : inside->argv) {
    if (shared.empty() || !is_mount_of_place(word, places)) {
      words += " " + word_with_places(word, places);
      continue;
    }
    flush();
    text += fmt::format("case {0} in {1}|{1}/*) ;; *) set -- \"$@\" {2} ;; esac\n",
                        word_with_places(word.substr(std::string_view("--bind=").size()), places), shared,
                        word_with_places(word, places));
  }
  flush();
  return text;
}

}  // namespace nocturne::deploy
