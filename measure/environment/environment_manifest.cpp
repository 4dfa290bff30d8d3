#include "measure/environment/environment_manifest.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kEnvironmentManifest = "manifest.json";

std::expected<std::string, std::string> digest_of(const fs::path& file) {
  auto digest = space::sha256_of_file(file);
  if (!digest) return std::unexpected(file.string() + " cannot be read");
  return *std::move(digest);
}

}  // namespace

json installed_part(const EnvironmentRecipe& recipe) {
  json steps = json::array();
  for (const auto& step : recipe.steps)
    steps.push_back({{"packages", step.packages}, {"no_dependencies", step.no_dependencies}});
  json part = {{"recipe", recipe.name},
               {"python", recipe.python},
               {"source", recipe.source},
               {"steps", std::move(steps)},
               {"fix_ups", recipe.fix_ups}};
  // Only where they are there: what was installed before these keys existed is still what its recipe says.
  if (!recipe.debian.empty()) part["debian"] = recipe.debian;
  if (recipe.uses_system_packages) part["uses_system_packages"] = true;
  if (recipe.build) {
    part["build"] = {
        {"package", recipe.build->package}, {"suite", recipe.build->suite}, {"cmake", recipe.build->cmake}};
  }
  return part;
}

std::expected<json, std::string> fix_up_digests(const EnvironmentRecipe& recipe, const fs::path& folder) {
  json digests = json::object();
  if (recipe.fix_ups.empty()) return digests;
  std::vector<fs::path> files;
  for (const std::string& name : recipe.fix_ups) files.push_back(folder / (name + ".py"));
  for (const fs::directory_entry& entry : space::entries_of(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('_') && name.ends_with(".py")) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    auto digest = digest_of(file);
    if (!digest) return std::unexpected(std::move(digest.error()));
    digests[file.stem().string()] = std::move(*digest);
  }
  return digests;
}

std::string environment_key(const EnvironmentRecipe& recipe, const json& fix_ups, const std::vector<std::string>& lock,
                            const std::string& abi) {
  const json all = {{"recipe", installed_part(recipe)}, {"fix_ups", fix_ups}, {"lock", lock}, {"abi", abi}};
  return space::sha256(all.dump());
}

bool write_manifest(const fs::path& folder, const Environment& environment, const EnvironmentRecipe& recipe,
                    const json& fix_ups) {
  const PythonVersion& version = environment.interpreter.version;
  const json document = {
      {"key", environment.key},
      {"recipe", installed_part(recipe)},
      {"fix_ups", fix_ups},
      {"lock", environment.lock},
      {"python", environment.interpreter.program.string()},
      {"python_version", {version.major, version.minor, version.patch}},
      {"abi", environment.interpreter.abi},
      {"bytes", environment.bytes},
      {"install_ns", environment.install_time.count()},
      {"installed_unix_s",
       std::chrono::duration_cast<std::chrono::seconds>(environment.installed.time_since_epoch()).count()}};
  std::ofstream out(folder / kEnvironmentManifest);
  out << document.dump(2) << '\n';
  return static_cast<bool>(out.flush());
}

std::optional<InstalledEnvironment> read_manifest_of(const fs::path& folder) {
  const auto text = space::read_file(folder / kEnvironmentManifest);
  if (!text) return std::nullopt;
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  InstalledEnvironment result;
  try {
    Environment& environment = result.environment;
    result.recipe = document.at("recipe");
    result.fix_ups = document.at("fix_ups");
    environment.recipe = result.recipe.at("recipe");
    environment.key = document.at("key");
    environment.folder = folder;
    if (!result.recipe.contains("build")) environment.python = folder / "bin/python";
    environment.lock = document.at("lock").get<std::vector<std::string>>();
    const json& version = document.at("python_version");
    environment.interpreter = {.program = document.at("python").get<std::string>(),
                               .version = {.major = version.at(0), .minor = version.at(1), .patch = version.at(2)},
                               .abi = document.at("abi")};
    environment.bytes = document.at("bytes");
    environment.install_time = std::chrono::nanoseconds(document.at("install_ns").get<std::int64_t>());
    environment.installed = std::chrono::system_clock::time_point(
        std::chrono::seconds(document.at("installed_unix_s").get<std::int64_t>()));
    std::error_code error;
    const auto written = fs::last_write_time(folder / kEnvironmentManifest, error);
    const auto used = std::chrono::file_clock::to_sys(written);
    environment.last_used = std::max(
        environment.installed,
        error ? environment.installed : std::chrono::time_point_cast<std::chrono::system_clock::duration>(used));
  } catch (const json::exception&) {
    return std::nullopt;
  }
  const fs::path& python = result.environment.python;
  if (!python.empty() && access(python.c_str(), X_OK) != 0) return std::nullopt;  // follows the link to the real one
  return result;
}

void note_use(const Environment& environment) {
  std::error_code ignored;
  fs::last_write_time(environment.folder / kEnvironmentManifest, fs::file_time_type::clock::now(), ignored);
}

}  // namespace nocturne::measure
