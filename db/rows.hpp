#pragma once

/// From values to columns and back: binding in order, reading in order. An optional is NULL where it is empty.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <SQLiteCpp/Statement.h>
#include <nlohmann/json.hpp>

#include "db/database.hpp"
#include "space/configuration.hpp"

namespace nocturne::db {

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
void bind_value(SQLite::Statement& statement, int index, const T& value) {
  if constexpr (IsOptional<T>::value)
    if (value)
      bind_value(statement, index, *value);
    else
      statement.bind(index);
  else if constexpr (std::integral<T>)
    statement.bind(index, static_cast<std::int64_t>(value));
  else if constexpr (std::floating_point<T>)
    statement.bind(index, static_cast<double>(value));
  else if constexpr (std::same_as<T, std::chrono::nanoseconds>)
    statement.bind(index, static_cast<std::int64_t>(value.count()));
  else
    statement.bind(index, std::string(value));
}

/// Binds all, first to ?1.
template <typename... Values>
void bind_all(SQLite::Statement& statement, const Values&... values) {
  int index = 0;
  (bind_value(statement, ++index, values), ...);
}

/// Runs a statement that gives no rows; the number of rows it changed.
template <typename... Values>
int execute(SQLite::Statement& statement, const Values&... values) {
  statement.reset();
  bind_all(statement, values...);
  return statement.exec();
}

template <typename... Values>
int execute(const Database& database, const std::string& sql, const Values&... values) {
  Statement statement = database.prepared(sql);
  return execute(statement, values...);
}

template <typename... Values>
[[nodiscard]] Statement query(const Database& database, const std::string& sql, const Values&... values) {
  Statement statement = database.prepared(sql);
  bind_all(statement, values...);
  return statement;
}

/// Stored text that is none of ours; the sentence says what about it.
struct TamperedRow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws where it is no JSON, or nested deeper than any of ours (space/json_field.hpp): the file may come from
/// elsewhere.
[[nodiscard]] nlohmann::json parse_json(const std::string& text);

/// Reads the current row from its first column on; reading follows the order of the SELECT.
class Reader {
 public:
  explicit Reader(const SQLite::Statement& statement) : statement_(statement) {}

  template <typename T>
  [[nodiscard]] T next() {
    return convert<T>(next_++);
  }
  /// Reads each in turn.
  template <typename... T>
  void into(T&... targets) {
    ((targets = next<T>()), ...);
  }

 private:
  template <typename T>
  [[nodiscard]] T convert(int index) const {
    if constexpr (IsOptional<T>::value)
      return statement_.isColumnNull(index) ? T{} : T{convert<typename T::value_type>(index)};
    else if constexpr (std::same_as<T, nlohmann::json>)
      return parse_json(statement_.getColumn(index).getString());
    else if constexpr (std::same_as<T, std::chrono::nanoseconds>)
      return T{statement_.getColumn(index).getInt64()};
    else if constexpr (std::same_as<T, bool>)
      return statement_.getColumn(index).getInt() != 0;
    else if constexpr (std::integral<T>)
      return static_cast<T>(statement_.getColumn(index).getInt64());
    else if constexpr (std::floating_point<T>)
      return statement_.getColumn(index).getDouble();
    else
      return statement_.getColumn(index).getString();
  }

  const SQLite::Statement& statement_;
  int next_ = 0;
};

/// The first column of the first row; empty where there is none, or NULL.
template <typename T, typename... Values>
[[nodiscard]] std::optional<T> first_value(const Database& database, const std::string& sql, const Values&... values) {
  Statement statement = query(database, sql, values...);
  return statement.executeStep() ? Reader(statement).next<std::optional<T>>() : std::nullopt;
}

[[nodiscard]] std::int64_t now_unix_ns();
[[nodiscard]] std::int64_t or_now(std::int64_t time_unix_ns);  ///< 0: now

/// As stored: bytes that are no UTF-8 (from a program's output) are replaced, since JSON has no place for them.
[[nodiscard]] std::string json_text(const nlohmann::json& document);

/// Its row; made where there is none.
[[nodiscard]] std::int64_t save_configuration(Database& database, const space::Configuration& configuration);
/// From canonical_json. Throws where that was tampered with.
[[nodiscard]] space::Configuration parse_configuration(const std::string& canonical);

}  // namespace nocturne::db
