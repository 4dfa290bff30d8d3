#include "tuner/doctor/place_checks.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/store.hpp"
#include "measure/run/slot.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastDisk = 0.5;  // GiB: a dozen builds and the runs of an evening
constexpr double kRoomyDisk = 5.0;

/// The folder itself, or the nearest above it that exists.
fs::path existing_part(fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_parent_path() && folder != folder.parent_path())
    folder = folder.parent_path();
  return folder;
}

bool can_write(const fs::path& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

}  // namespace

Diagnosis check_data(const fs::path& folder) {
  Diagnosis finding{.subject = "data"};
  std::ifstream sums(folder / "SHA256SUMS");
  std::size_t good = 0;
  std::vector<std::string> wrong;
  std::string digest, name;
  while (sums >> digest >> name) {
    const auto found = space::sha256_of_file(folder / name);
    if (!found)
      wrong.push_back(name + " is missing");
    else if (*found != digest)
      wrong.push_back(name + " has a wrong checksum");
    else
      ++good;
  }
  if (!wrong.empty() || good == 0) {
    finding.health = Health::Bad;
    finding.found =
        wrong.empty() ? fmt::format("no SHA256SUMS in {}", folder.string()) : fmt::format("{}", fmt::join(wrong, ", "));
    finding.meaning = "they belong to the checkout: git checkout -- examples/data";
    return finding;
  }
  finding.found = fmt::format("{} files in {}, checksums right", good, folder.string());
  return finding;
}

Diagnosis check_sources(const fs::path& source_root) {
  std::vector<std::string> missing, there;
  std::error_code ignored;
  for (const WorkerRecipe& recipe : worker_recipes()) {
    if (recipe.build_file.empty()) continue;
    const fs::path file = source_root / recipe.build_file;
    (fs::exists(file, ignored) ? there : missing).emplace_back(recipe.name);
  }
  if (missing.empty()) return {.subject = "workers", .found = fmt::format("{}", fmt::join(there, ", "))};
  return {.subject = "workers",
          .health = Health::Bad,
          .found = fmt::format("no sources of {} in {}", fmt::join(missing, ", "), source_root.string()),
          .meaning = "NOCTURNE_SOURCE names the checkout where it was moved"};
}

Diagnosis check_supervisor(const fs::path& program) {
  if (!program.empty()) return {.subject = "supervisor", .found = program.string()};
  return {.subject = "supervisor",
          .health = Health::Bad,
          .found = "nocturne-supervisor not found",
          .meaning = "it lies beside nocturne after the build; NOCTURNE_SUPERVISOR_PROGRAM names another place"};
}

Diagnosis check_database(const fs::path& file) {
  Diagnosis finding{.subject = "database", .found = file.string()};
  const auto bad = [&](std::string meaning) {
    finding.health = Health::Bad;
    finding.meaning = std::move(meaning);
    return finding;
  };
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    const fs::path above = existing_part(file.parent_path());
    if (!can_write(above)) return bad(fmt::format("it cannot be made: {} is not writable", above.string()));
    finding.found += " (will be made)";
    return finding;
  }
  try {
    const auto store = db::Store::open(file, db::Mode::ReadOnly);
    if (!can_write(file) || !can_write(file.parent_path()))
      return bad(fmt::format("not writable: {}", std::strerror(EACCES)));
    finding.found += fmt::format(", {} campaigns", store.list_campaigns().size());
    if (std::string notice = store.notice(); !notice.empty()) {
      finding.health = Health::Note;
      finding.meaning = std::move(notice);
    }
  } catch (const db::Error& error) {
    return bad(error.what());
  }
  return finding;
}

Diagnosis check_disk(const fs::path& folder) {
  const fs::path above = existing_part(folder);
  std::error_code error;
  const fs::space_info room = fs::space(above, error);
  if (error) return {.subject = "disk", .health = Health::Note, .found = "unknown: " + error.message()};
  const double free = gibibytes(room.available);
  Diagnosis finding{.subject = "disk", .found = fmt::format("{:.1f} GiB free for {}", free, folder.string())};
  if (free < kLeastDisk) {
    finding.health = Health::Bad;
    finding.meaning =
        fmt::format("builds and run folders need about half a GiB; '{}' drops old ones", command_text({"clean"}));
  } else if (free < kRoomyDisk) {
    finding.health = Health::Note;
    finding.meaning = fmt::format("enough for an evening; '{}' drops what is old", command_text({"clean"}));
  }
  return finding;
}

Diagnosis check_slot(const fs::path& folder) {
  const auto lock = measure::SlotLock::try_take({}, "doctor", folder);
  if (lock) return {.subject = "slot", .found = "free"};
  if (lock.error().holder) {
    return {.subject = "slot",
            .health = Health::Note,
            .found = measure::describe(*lock.error().holder),
            .meaning = "a campaign begun now waits for it"};
  }
  return {.subject = "slot",
          .health = Health::Bad,
          .found = lock.error().error,
          .meaning = "two measurements at a time would spoil each other"};
}

Diagnosis check_frameworks(const Frameworks& frameworks) {
  std::vector<std::string> here, not_here;
  for (const std::string& name : frameworks.names()) {
    const std::string reason = frameworks.obstacle(name);
    if (reason.empty())
      here.push_back(frameworks.installed(name) ? name + " (installed)" : name);
    else
      not_here.push_back(fmt::format("{}: {}", name, reason));
  }
  Diagnosis finding{.subject = "frameworks", .found = fmt::format("{}", fmt::join(here, ", "))};
  if (!not_here.empty()) {
    finding.health = Health::Optional;
    finding.meaning = fmt::format("unavailable here: {}", fmt::join(not_here, "; "));
  }
  for (const std::string& problem : frameworks.problems()) {
    finding.health = Health::Optional;
    finding.meaning += fmt::format("{}a recipe is left out: {}", finding.meaning.empty() ? "" : "; ", problem);
  }
  return finding;
}

}  // namespace nocturne::tuner
