#include "tuner/executor/process_document.hpp"

#include "space/json_field.hpp"

namespace nocturne::tuner {

using nlohmann::json;
using space::take_field;

json process_to_json(const db::ProcessIdentity& process) {
  return {{"pid", process.pid},
          {"start_ticks", process.start_ticks},
          {"boot_id", process.boot_id},
          {"pid_namespace", process.pid_namespace},
          {"host", process.host}};
}

db::ProcessIdentity process_from_json(const json& document) {
  db::ProcessIdentity process;
  take_field(document, "pid", process.pid);
  take_field(document, "start_ticks", process.start_ticks);
  take_field(document, "boot_id", process.boot_id);
  take_field(document, "pid_namespace", process.pid_namespace);
  take_field(document, "host", process.host);
  return process;
}

}  // namespace nocturne::tuner
