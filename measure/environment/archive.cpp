#include "measure/environment/archive.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "measure/artifact/process.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/environment/pip_error.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kContents = "contents.json";
constexpr int kArchiveVersion = 1;
constexpr std::chrono::minutes kLongestArchive{60};

std::unexpected<std::string> refuse_archive(const fs::path& file, std::string_view what) {
  return std::unexpected(fmt::format("{} is refused: {}", file.string(), what));
}

/// By zstd's magic number (RFC 8878, 3.1.1).
bool is_packed_by_zstd(const fs::path& file) {
  return space::read_file(file, 4) == "\x28\xB5\x2F\xFD";
}

/// Runs tar; its last line where it fails.
std::expected<void, std::string> run_tar(std::vector<std::string> arguments, const fs::path& log,
                                         const std::stop_token& stop) {
  const auto program = find_tool("tar");
  if (!program) return std::unexpected(std::string("the program tar is not here; install it"));
  arguments.insert(arguments.begin(), program->string());
  const CommandResult result =
      run_command({.argv = std::move(arguments)}, log, std::chrono::steady_clock::now() + kLongestArchive, stop);
  if (result.ok()) return {};
  const std::string said = last_line(space::read_file(log).value_or(""));
  return std::unexpected(said.empty() ? "tar: " + to_text(result) : said);
}

/// Beside the archive, not within the folder that is packed or checked.
class TarLog {
 public:
  explicit TarLog(const fs::path& beside) : path_(beside.string() + ".tar-log") {}
  TarLog(const TarLog&) = delete;
  TarLog& operator=(const TarLog&) = delete;
  ~TarLog() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// What lies below, as contents.json has it.
std::expected<json, std::string> contents_of(const fs::path& folder) {
  json files = json::object(), links = json::object();
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path place = entry->path().lexically_relative(folder);
    if (place == kContents) continue;
    const fs::file_status status = entry->symlink_status();
    if (fs::is_symlink(status)) {
      const fs::path target = fs::read_symlink(entry->path(), error);
      if (!is_inner_link(place, target))
        return std::unexpected(fmt::format("the link {} leads out of it, to {}", place.string(), target.string()));
      links[place.string()] = target.string();
    } else if (fs::is_regular_file(status)) {
      const auto digest = space::sha256_of_file(entry->path());
      if (!digest) return std::unexpected(fmt::format("{} cannot be read", place.string()));
      files[place.string()] = {{"sha256", *digest}, {"bytes", entry->file_size()}};
    } else if (!fs::is_directory(status)) {
      return std::unexpected(fmt::format("{} is neither a file nor a folder nor a link", place.string()));
    }
  }
  if (error) return std::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  return json{{"nocturne_archive", kArchiveVersion}, {"files", std::move(files)}, {"links", std::move(links)}};
}

/// Bytes of all files that it says it holds; empty: it is not what pack_folder() writes.
std::optional<std::uintmax_t> stated_bytes(const json& contents) {
  if (!contents.is_object() || contents.value("nocturne_archive", json()) != json(kArchiveVersion)) return std::nullopt;
  const json files = contents.value("files", json());
  if (!files.is_object() || !contents.value("links", json()).is_object()) return std::nullopt;
  std::uintmax_t bytes = 0;
  for (const auto& [name, file] : files.items()) {
    const json size = file.is_object() ? file.value("bytes", json()) : json();
    if (!size.is_number_unsigned()) return std::nullopt;
    bytes += size.get<std::uintmax_t>();
  }
  return bytes;
}

/// The first difference, in words.
std::string difference_of(const json& stated, const json& found) {
  for (const char* kind : {"files", "links"}) {
    const json listed = stated.value(kind, json::object());
    const json& there = found.at(kind);
    for (auto each = there.begin(); each != there.end(); ++each) {
      const auto known = listed.find(each.key());
      if (known == listed.end()) return fmt::format("it holds {}, which it does not list", each.key());
      if (*known != *each) return fmt::format("{} is not what it was when it was packed", each.key());
    }
    for (auto each = listed.begin(); each != listed.end(); ++each)
      if (!there.contains(each.key())) return fmt::format("{} is missing", each.key());
  }
  return {};
}

}  // namespace

bool is_inner_link(const fs::path& place, const fs::path& target) {
  if (target.empty() || target.is_absolute()) return false;
  bool may_go_up = true;
  for (const fs::path& part : target) {
    if (part == ".." && !may_go_up) return false;
    may_go_up = may_go_up && part == "..";
  }
  const fs::path inside = (place.parent_path() / target).lexically_normal();
  return !inside.empty() && *inside.begin() != "..";
}

std::expected<std::string, std::string> pack_folder(const fs::path& folder, const fs::path& file,
                                                    const std::stop_token& stop) {
  const auto contents = contents_of(folder);
  if (!contents) return std::unexpected(contents.error());
  const std::string text = contents->dump(1) + "\n";
  std::ofstream out(folder / kContents);
  out << text;
  if (!out.flush()) return std::unexpected(fmt::format("{} cannot be written", (folder / kContents).string()));
  out.close();
  const fs::path beside = file.string() + ".new";
  const TarLog log(beside);
  auto packed = run_tar(
      {"--create", "--file=" + beside.string(), "--directory=" + folder.string(),
       find_tool("zstd") ? "--use-compress-program=zstd -q -T0 -3" : "--use-compress-program=gzip -n", "--sort=name",
       "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", "--hard-dereference", "."},
      log.path(), stop);
  std::error_code error;
  if (packed) fs::rename(beside, file, error);
  if (packed && !error) return space::sha256(text);
  fs::remove(beside, error);
  return std::unexpected(
      fmt::format("{} cannot be written: {}", file.string(), packed ? error.message() : packed.error()));
}

std::expected<std::string, std::string> unpack_archive(const fs::path& file, const fs::path& folder,
                                                       const std::stop_token& stop) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::unexpected(fmt::format("there is no file {}", file.string()));
  if (is_packed_by_zstd(file) && !find_tool("zstd"))
    return refuse_archive(file, "it was packed with zstd, which is not here: install it");
  // Its output alone: a warning in between would make it no JSON.
  const auto text = ask_tool({"sh", "-c", R"(exec "$@" 2>/dev/null)", "sh", "tar", "--extract", "--to-stdout",
                              "--occurrence=1", "--file=" + file.string(), std::string("./") + kContents},
                             kLongestArchive);
  const json stated = text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
  const auto bytes = stated_bytes(stated);
  if (!bytes) return refuse_archive(file, "it is no bundle of 'nocturne env export --bundle', or it is torn");
  const auto space = fs::space(folder, error);
  if (!error && space.available < *bytes) {
    return std::unexpected(fmt::format("{} unpacks to {} MB, and {} has {} MB free: free some space", file.string(),
                                       *bytes / 1'000'000, folder.string(), space.available / 1'000'000));
  }
  const TarLog log(folder);
  // GNU tar takes leading slashes off, refuses names that go up, and follows no link that it has just made outwards.
  const auto unpacked = run_tar({"--extract", "--file=" + file.string(), "--directory=" + folder.string(),
                                 "--no-same-owner", "--no-same-permissions", "--delay-directory-restore"},
                                log.path(), stop);
  if (!unpacked) return refuse_archive(file, unpacked.error());
  const auto found = contents_of(folder);
  if (!found) return refuse_archive(file, found.error());
  if (const std::string difference = difference_of(stated, *found); !difference.empty())
    return refuse_archive(file, difference);
  return space::sha256(stated.dump(1) + "\n");
}

}  // namespace nocturne::measure
