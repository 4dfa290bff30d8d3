#pragma once

/// Comma-separated values (RFC 4180), a record at a time.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::search::replay {

/// Walks through a text that outlives it.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}
  /// The next record's fields, valid until the next call. Empty lines are skipped; false: the end.
  bool next();
  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::size_t line() const { return line_; }  ///< line on which the record begins, from 1
  [[nodiscard]] bool is_torn() const { return torn_; }      ///< the text ended inside a quoted field

 private:
  std::string_view quoted_field();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::size_t lines_ = 1;
  bool torn_ = false;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unescaped_;  // fields with quotes inside
};

}  // namespace nocturne::search::replay
