#include "measure/environment/python_finder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "measure/artifact/parallel.hpp"
#include "measure/artifact/process.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"
#include "space/json_field.hpp"
#include "space/write_file.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatienceForPython{20};  // a cold one on a busy machine takes some
constexpr int kAskedAtOnce = 4;

// Runs on Python 3.6 and later; an earlier one fails on it and is left out. A shim says where the real program is.
constexpr const char* kQuestion =
    "import sys, os, json, sysconfig, venv, ensurepip\n"
    "print(json.dumps([os.path.realpath(sys.executable), list(sys.version_info[:3]), sys.implementation.name,"
    " sysconfig.get_config_var('SOABI') or '', venv.__file__, ensurepip.__file__]))";

// Of a virtual environment, whose program is a link to another's: what counts are its packages. It needs no ensurepip.
constexpr const char* kVirtualQuestion =
    "import sys, json, sysconfig, venv\n"
    "print(json.dumps([sys.executable, list(sys.version_info[:3]), sys.implementation.name,"
    " sysconfig.get_config_var('SOABI') or '', sysconfig.get_paths()['purelib']]))";

std::vector<fs::path> split_paths(const char* list) {
  std::vector<fs::path> result;
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) result.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

fs::path variable_or(const char* name, const fs::path& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? fs::path(value) : otherwise;
}

/// python, python3, python3.11; not python3-config.
bool is_interpreter_name(std::string_view name) {
  if (!name.starts_with("python")) return false;
  return name.find_first_not_of("0123456789.", std::string_view("python").size()) == std::string_view::npos &&
         !name.starts_with("python2");
}

void add_program(std::vector<fs::path>& programs, const fs::path& program) {
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  if (error || !fs::is_regular_file(real, error)) return;
  // python3 is mostly a link to python3.11: asked once.
  if (std::ranges::find(programs, real) == programs.end()) programs.push_back(real);
}

void add_folder(std::vector<fs::path>& programs, const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : space::entries_of(folder))
    if (is_interpreter_name(entry.path().filename().string())) found.push_back(entry.path());
  std::ranges::sort(found);
  for (const fs::path& program : found) add_program(programs, program);
}

void add_versions(std::vector<fs::path>& programs, const fs::path& versions) {
  for (const fs::directory_entry& entry : space::entries_of(versions)) add_folder(programs, entry.path() / "bin");
}

std::vector<fs::path> candidates(const PythonPlaces& places) {
  std::vector<fs::path> programs;
  for (const fs::path& named : places.named) {
    add_program(programs, named);
    add_folder(programs, named);
    add_folder(programs, named / "bin");
  }
  for (const fs::path& folder : places.folders) {
    const auto versions = std::ranges::find(places.version_folders, folder.parent_path() / "versions");
    // A shim of pyenv starts a shell first, and says no more than the versions behind it.
    if (folder.filename() == "shims" && versions != places.version_folders.end())
      add_versions(programs, *versions);
    else
      add_folder(programs, folder);
  }
  for (const fs::path& versions : places.version_folders) add_versions(programs, versions);
  return programs;
}

struct Answer {
  PythonInterpreter python;
  std::vector<fs::path> modules;  ///< files without which it would have been none
};

std::optional<Answer> interpret(const std::string& text) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  // Wheels of other implementations are others, so recipes mean CPython.
  if (!document.is_array() || document.size() < 4 || document[2] != "cpython") return std::nullopt;
  const auto& version = document[1];
  const auto is_number = [](const nlohmann::json& part) { return part.is_number_integer(); };
  if (!document[0].is_string() || !document[3].is_string() || !version.is_array() || version.size() != 3 ||
      !std::ranges::all_of(version, is_number)) {
    return std::nullopt;
  }
  Answer answer{.python = {.program = document[0].get<std::string>(),
                           .version = {.major = version[0], .minor = version[1], .patch = version[2]},
                           .abi = document[3].get<std::string>()},
                .modules = {}};
  std::string& abi = answer.python.abi;
  if (abi.starts_with("cpython-")) abi = "cp" + abi.substr(std::string_view("cpython-").size());
  for (std::size_t i = 4; i < document.size(); ++i)
    if (document[i].is_string()) answer.modules.emplace_back(document[i].get<std::string>());
  return answer;
}

/// The program of the virtual environment that a path names: its folder, the folder of its programs, or one of these.
std::optional<fs::path> program_of_environment(const fs::path& named) {
  std::error_code error;
  for (const fs::path& folder : {named, named.parent_path(), named.parent_path().parent_path()})
    if (fs::exists(folder / "pyvenv.cfg", error) && fs::exists(folder / "bin/python3", error))
      return fs::absolute(folder / "bin/python3");
  return std::nullopt;
}

/// What a program says it is. Asked once as long as the file stays the same: a campaign looks at many recipes.
std::optional<Answer> ask(const fs::path& program, const char* question = kQuestion) {
  static std::mutex mutex;
  static std::map<std::pair<fs::path, fs::file_time_type>, std::optional<Answer>> known;
  std::error_code error;
  const auto key = std::pair(program, fs::last_write_time(program, error));
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  // Isolated (-I), so that no PYTHONPATH or user site changes the answer. Outside the lock: several are asked at once.
  const auto text = command_output({.argv = {program.string(), "-I", "-c", question}},
                                   std::chrono::steady_clock::now() + kPatienceForPython);
  auto answer = text ? interpret(*text) : std::nullopt;
  const std::scoped_lock lock(mutex);
  return known[key] = std::move(answer);
}

/// Whether it spoke for itself and said what that rests on.
bool can_be_kept(const Answer& answer, const fs::path& asked) {
  // A shim answers for another program, which may change without the shim's file changing.
  return answer.python.program == asked && answer.modules.size() == 2;
}

/// "3.7" or "3.7.16"; how many numbers stood there in `parts`.
std::optional<PythonVersion> version_from(std::string_view text, int& parts) {
  std::array<int, 3> numbers{};
  parts = 0;
  while (parts < 3) {
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[static_cast<std::size_t>(parts)]);
    if (error != std::errc{} || end == text.data() || numbers[static_cast<std::size_t>(parts)] < 0) return std::nullopt;
    ++parts;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return PythonVersion{.major = numbers[0], .minor = numbers[1], .patch = numbers[2]};
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

std::optional<bool> holds(PythonVersion version, std::string_view comparison) {
  constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", ">=", "<=", ">", "<"};
  const auto* sign =
      std::ranges::find_if(kSigns, [comparison](std::string_view s) { return comparison.starts_with(s); });
  if (sign == kSigns.end()) return std::nullopt;
  int parts = 0;
  const auto other = version_from(comparison.substr(sign->size()), parts);
  if (!other) return std::nullopt;
  // "<3.8" must leave 3.8.1 out and "==3.7" let 3.7.16 in: as many numbers are compared as are written.
  if (parts < 3) version.patch = 0;
  if (parts < 2) version.minor = 0;
  const auto order = version <=> *other;
  if (*sign == "==") return order == 0;
  if (*sign == "!=") return order != 0;
  if (*sign == ">=") return order >= 0;
  if (*sign == "<=") return order <= 0;
  return *sign == ">" ? order > 0 : order < 0;
}

using nlohmann::json;

constexpr std::size_t kLargestMemory = 1 << 20;
constexpr int kMemoryVersion = 1;  // of the file, and of what is asked

/// Empty: there is no such file.
std::string stamp_of(const fs::path& file) {
  struct ::stat status{};
  if (::stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} {} {}.{:09} {}.{:09}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

json said_json(const PythonInterpreter& python, const std::map<std::string, std::string>& stamps) {
  return {{"version", {python.version.major, python.version.minor, python.version.patch}},
          {"abi", python.abi},
          {"files", stamps}};
}

}  // namespace

PythonPlaces python_places() {
  const fs::path home = variable_or("HOME", "/nonexistent");
  const fs::path data = variable_or("XDG_DATA_HOME", home / ".local/share");
  const bool homeless = std::getenv("HOME") == nullptr && std::getenv("XDG_CACHE_HOME") == nullptr;
  const fs::path cache = variable_or("XDG_CACHE_HOME", home / ".cache");
  return {.named = split_paths(std::getenv("NOCTURNE_PYTHONS")),
          .folders = split_paths(std::getenv("PATH")),
          .version_folders = {variable_or("PYENV_ROOT", home / ".pyenv") / "versions",
                              variable_or("UV_PYTHON_INSTALL_DIR", data / "uv/python")},
          .activated = split_paths(std::getenv("VIRTUAL_ENV")),
          .memory = homeless ? fs::path() : cache / "nocturne" / "pythons.json"};
}

std::vector<PythonInterpreter> find_pythons(const PythonPlaces& places) {
  const std::vector<fs::path> programs = candidates(places);
  PythonMemory memory(places.memory);
  std::vector<std::optional<PythonInterpreter>> answers(programs.size());
  std::vector<std::size_t> to_ask;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    answers[i] = memory.find(programs[i]);
    if (!answers[i]) to_ask.push_back(i);
  }
  std::vector<std::optional<Answer>> said(to_ask.size());
  for_each_in_parallel(to_ask.size(), kAskedAtOnce, [&](std::size_t i) {
    said[i] = ask(programs[to_ask[i]]);
    return true;
  });
  for (std::size_t i = 0; i < to_ask.size(); ++i) {
    if (!said[i]) continue;
    answers[to_ask[i]] = said[i]->python;
    if (can_be_kept(*said[i], programs[to_ask[i]])) memory.keep(said[i]->python, said[i]->modules);
  }
  memory.save();
  std::vector<PythonInterpreter> result;
  std::set<fs::path> seen;
  for (auto& answer : answers)
    if (answer && seen.insert(answer->program).second) result.push_back(std::move(*answer));
  std::ranges::stable_sort(result, std::ranges::greater{}, &PythonInterpreter::version);  // equal ones: the named first
  return result;
}

std::vector<PythonInterpreter> find_virtual_environments(const PythonPlaces& places) {
  std::vector<PythonInterpreter> result;
  std::set<fs::path> seen;
  for (const std::vector<fs::path>* list : {&places.named, &places.activated}) {
    for (const fs::path& named : *list) {
      const auto program = program_of_environment(named);
      if (!program || !seen.insert(*program).second) continue;
      auto answer = ask(*program, kVirtualQuestion);
      if (!answer || answer->modules.empty()) continue;
      answer->python.packages = answer->modules.front();
      result.push_back(std::move(answer->python));
    }
  }
  return result;
}

// Versions of Python and which of them a recipe asks for.

std::string to_text(const PythonVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::expected<bool, std::string> satisfies(const PythonVersion& version, std::string_view specifier) {
  bool all = true;
  while (!specifier.empty()) {
    const std::size_t end = std::min(specifier.find(','), specifier.size());
    std::string_view part = specifier.substr(0, end);
    specifier.remove_prefix(std::min(end + 1, specifier.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const auto one = holds(version, part);
    if (!one) {
      return std::unexpected(
          fmt::format("'{}' is no comparison of versions such as '>=3.6' or '==3.7' (signs: == != >= "
                      "<= > <)",
                      part));
    }
    all = all && *one;
  }
  return all;
}

std::expected<PythonInterpreter, std::string> choose_python(std::span<const PythonInterpreter> pythons,
                                                            std::string_view specifier) {
  const PythonInterpreter* best = nullptr;
  std::string there;
  for (const PythonInterpreter& python : pythons) {
    const auto fits = satisfies(python.version, specifier.empty() ? ">=3.6" : specifier);
    if (!fits) return std::unexpected(fits.error());
    if (*fits && (best == nullptr || python.version > best->version)) best = &python;
    const std::string text = to_text(python.version);
    if (!there.contains(text)) there += (there.empty() ? "" : ", ") + text;
  }
  if (best != nullptr) return *best;
  return std::unexpected(
      fmt::format("needs Python {}; this machine has {}. Get one, for example `uv python install VERSION` or `pyenv "
                  "install VERSION`, or name its program in NOCTURNE_PYTHONS",
                  specifier.empty() ? ">=3.6" : specifier,
                  there.empty() ? "none with venv and pip (Debian: python3-venv)" : there));
}

PythonMemory::PythonMemory(fs::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const auto text = space::read_file(file_, kLargestMemory + 1);
  if (!text || text->size() > kLargestMemory || space::is_nested_too_deep(*text)) return;
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object() || document.value("version", json()) != json(kMemoryVersion)) return;
  try {
    for (const auto& [program, said] : document.at("pythons").items()) {
      const auto version = said.at("version").get<std::array<int, 3>>();
      known_[program] = {.python = {.program = program,
                                    .version = {.major = version[0], .minor = version[1], .patch = version[2]},
                                    .abi = said.at("abi").get<std::string>()},
                         .stamps = said.at("files").get<std::map<std::string, std::string>>()};
    }
  } catch (const json::exception&) {  // not what we wrote
    known_.clear();
  }
}

std::optional<PythonInterpreter> PythonMemory::find(const fs::path& program) const {
  const auto found = known_.find(program);
  if (found == known_.end()) return std::nullopt;
  const auto& stamps = found->second.stamps;
  const bool same = stamps.contains(program.string()) &&
                    std::ranges::all_of(stamps, [](const auto& each) { return stamp_of(each.first) == each.second; });
  return same ? std::optional(found->second.python) : std::nullopt;
}

void PythonMemory::keep(const PythonInterpreter& python, const std::vector<fs::path>& modules) {
  KnownPython known{.python = python, .stamps = {{python.program.string(), stamp_of(python.program)}}};
  for (const fs::path& module : modules) known.stamps[module.string()] = stamp_of(module);
  known_[python.program] = std::move(known);
  changed_ = true;
}

void PythonMemory::save() const {
  if (!changed_ || file_.empty()) return;
  json pythons = json::object();
  for (const auto& [program, known] : known_) {
    // Programs that are gone leave the file, or it would only ever grow.
    if (!stamp_of(program).empty()) pythons[program.string()] = said_json(known.python, known.stamps);
  }
  const json document = {{"version", kMemoryVersion}, {"pythons", std::move(pythons)}};
  const std::string text = document.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
  static_cast<void>(space::write_file(file_, text));  // what cannot be kept is asked again
}

}  // namespace nocturne::measure
