#include "measure/environment/python_memory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "space/file_contents.hpp"
#include "space/nesting.hpp"
#include "space/write_file.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
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
  Known known{.python = python, .stamps = {{python.program.string(), stamp_of(python.program)}}};
  for (const fs::path& module : modules) known.stamps[module.string()] = stamp_of(module);
  known_[python.program] = std::move(known);
  changed_ = true;
}

void PythonMemory::save() const {
  if (!changed_ || file_.empty()) return;
  json pythons = json::object();
  for (const auto& [program, known] : known_) {
    if (!stamp_of(program).empty()) pythons[program.string()] = said_json(known.python, known.stamps);
  }
  const json document = {{"version", kMemoryVersion}, {"pythons", std::move(pythons)}};
  const std::string text = document.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
  static_cast<void>(space::write_file(file_, text));  // what cannot be kept is asked again
}

}  // namespace nocturne::measure
