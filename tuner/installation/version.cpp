#include "tuner/installation/version.hpp"

#include <sqlite3.h>

#include <fmt/format.h>
#include <CLI/Version.hpp>
#include <Eigen/Core>

#include <nocturne_commit.hpp>  // not in the tree: written at build time by commit.cmake

namespace nocturne::tuner {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

}  // namespace

std::string_view version() {
  return NOCTURNE_VERSION;
}

std::string_view commit() {
  return NOCTURNE_COMMIT;
}

nlohmann::json version_json() {
  nlohmann::json libraries = {
      {"SQLite", sqlite3_libversion()},
      {"CLI11", CLI11_VERSION},
      {"Eigen", fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
  };
#ifdef NOCTURNE_ONEDNN_VERSION
  libraries["oneDNN"] = NOCTURNE_ONEDNN_VERSION;
#endif
  return {{"nocturne", version()},
          {"commit", commit()},
          {"compiler", compiler()},
          {"build_type", NOCTURNE_BUILD_TYPE},
          {"libraries", libraries}};
}

std::string version_text() {
  const nlohmann::json facts = version_json();
  std::string text = fmt::format("nocturne {} (commit {})\n{}, {}\n", version(), commit(),
                                 facts["compiler"].get<std::string>(), facts["build_type"].get<std::string>());
  for (const auto& [name, number] : facts["libraries"].items())
    text += fmt::format("{} {}\n", name, number.get<std::string>());
  return text;
}

}  // namespace nocturne::tuner
