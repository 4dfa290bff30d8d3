#include "tuner/deploy/exporter.hpp"

namespace nocturne::deploy {

std::string export_json(const Profile& profile) {
  return to_json(profile).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace nocturne::deploy
