#include "db/rows.hpp"

#include <variant>

#include "space/json_field.hpp"
#include "space/unix_time.hpp"

namespace nocturne::db {
namespace {

void save_value(SQLite::Statement& insert, std::int64_t id, const std::string& name, const space::Value& value) {
  std::visit(
      [&]<typename T>(const T& content) {
        constexpr std::string_view kKind = std::same_as<T, bool>           ? "boolean"
                                           : std::same_as<T, std::int64_t> ? "integer"
                                           : std::same_as<T, double>       ? "real"
                                                                           : "text";
        execute(insert, id, name, kKind, content);
      },
      value);
}

}  // namespace

std::int64_t now_unix_ns() {
  return space::unix_ns_of(std::chrono::system_clock::now());
}

std::int64_t or_now(std::int64_t time_unix_ns) {
  return time_unix_ns == 0 ? now_unix_ns() : time_unix_ns;
}

nlohmann::json parse_json(const std::string& text) {
  if (space::is_nested_too_deep(text)) throw TamperedRow("its JSON is nested deeper than any of ours");
  return nlohmann::json::parse(text);
}

std::string json_text(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::int64_t save_configuration(Database& database, const space::Configuration& configuration) {
  const std::string identity = configuration.identity();
  if (const auto known =
          first_value<std::int64_t>(database, "SELECT id FROM configurations WHERE identity = ?1", identity)) {
    return *known;
  }
  execute(database, "INSERT INTO configurations (identity, canonical_json) VALUES (?1, ?2)", identity,
          configuration.canonical());
  const std::int64_t id = database.getLastInsertRowid();
  Statement insert = query(database,
                           "INSERT INTO configuration_values (configuration_id, parameter, kind, value)"
                           " VALUES (?1, ?2, ?3, ?4)");
  for (const auto& [name, value] : configuration.values()) save_value(insert, id, name, value);
  return id;
}

space::Configuration parse_configuration(const std::string& canonical) {
  auto configuration = space::Configuration::from_json(parse_json(canonical));
  if (!configuration) throw TamperedRow("a stored configuration cannot be read: " + configuration.error());
  return *std::move(configuration);
}

}  // namespace nocturne::db
