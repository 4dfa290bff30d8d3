#include "measure/run/run_files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool write_request(const fs::path& path, const protocol::Request& request) {
  std::ofstream file(path);
  file << protocol::to_json(request).dump(1) << '\n';
  file.close();
  return !file.fail();
}

}  // namespace

std::expected<void, std::string> prepare_folder(const RunPlan& plan) {
  const auto failed = [&](const char* what) {
    return std::unexpected(fmt::format("{} {}: {}", what, plan.folder.string(), std::strerror(errno)));
  };
  std::error_code error;
  fs::create_directories(plan.folder.parent_path(), error);
  if (::mkdir(plan.folder.c_str(), 0700) != 0) {
    if (errno != EEXIST) return failed("cannot make the run's folder");
    if (!fs::is_directory(fs::symlink_status(plan.folder, error)) || !fs::is_empty(plan.folder, error) || error) {
      return std::unexpected(fmt::format("the run's folder {} is not empty", plan.folder.string()));
    }
    if (::chmod(plan.folder.c_str(), 0700) != 0) return failed("cannot make private");
  }
  protocol::Request request = plan.request;
  request.run_id = plan.id;
  if (!write_request(plan.folder / kRequestFile, request)) return failed("cannot write the request in");
  if (!request.turns) return {};
  if (::mkfifo(request.turns->c_str(), 0600) != 0) return failed("cannot make the FIFO in");
  request.turns.reset();
  if (!write_request(plan.folder / kAloneRequestFile, request)) return failed("cannot write the request in");
  return {};
}

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string valid_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string tail_of(const fs::path& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::size_t>(file.tellg());
  const std::size_t wanted = std::min(size, bytes);
  file.seekg(static_cast<std::streamoff>(size - wanted));
  std::string text(wanted, '\0');
  file.read(text.data(), static_cast<std::streamsize>(wanted));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (wanted < size) {
    const std::size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
  }
  return valid_utf8(text);
}

std::string last_line_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kSpace);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string_view::npos) text = text.substr(begin + 1);
  return valid_utf8(std::string(text.substr(0, 300)));
}

}  // namespace nocturne::measure
