#include "tuner/executor/process_document.hpp"

#include <cstdint>
#include <string>

namespace nocturne::tuner {
namespace {

using nlohmann::json;

void take(const json& document, const char* key, std::int64_t& out) {
  if (const auto found = document.find(key); found != document.end() && found->is_number_integer()) out = *found;
}

void take(const json& document, const char* key, std::string& out) {
  if (const auto found = document.find(key); found != document.end() && found->is_string()) out = *found;
}

}  // namespace

json process_to_json(const db::ProcessIdentity& process) {
  return {{"pid", process.pid},
          {"start_ticks", process.start_ticks},
          {"boot_id", process.boot_id},
          {"pid_namespace", process.pid_namespace},
          {"host", process.host}};
}

db::ProcessIdentity process_from_json(const json& document) {
  db::ProcessIdentity process;
  take(document, "pid", process.pid);
  take(document, "start_ticks", process.start_ticks);
  take(document, "boot_id", process.boot_id);
  take(document, "pid_namespace", process.pid_namespace);
  take(document, "host", process.host);
  return process;
}

}  // namespace nocturne::tuner
