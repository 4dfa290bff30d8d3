#include "tests/db/schema_shape.hpp"

#include <SQLiteCpp/Statement.h>

#include <cctype>
#include <set>
#include <vector>

namespace nocturne::db::test {
namespace {

void add_rows(const SQLite::Database& database, const std::string& query, const std::string& about,
              std::multiset<std::string>& lines) {
  SQLite::Statement rows(database, query);
  while (rows.executeStep()) {
    std::string line = about;
    for (int i = 0; i < rows.getColumnCount(); ++i) line += " | " + rows.getColumn(i).getString();
    lines.insert(line);
  }
}

/// Without comments, and with one space for any white space.
std::string in_one_line(const std::string& sql) {
  std::string line;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql.compare(at, 2, "--") == 0) at = sql.find('\n', at);
    if (at == std::string::npos) break;
    if (std::isspace(static_cast<unsigned char>(sql[at])) == 0)
      line += sql[at];
    else if (!line.ends_with(' '))
      line += ' ';
  }
  return line;
}

/// Every CHECK of the table's text.
void add_checks(const std::string& table, const std::string& text, std::multiset<std::string>& lines) {
  const std::string sql = in_one_line(text);
  std::size_t start = sql.find("CHECK (");
  while (start != std::string::npos) {
    int depth = 0;
    std::size_t end = sql.find('(', start);
    do {
      depth += sql[end] == '(' ? 1 : sql[end] == ')' ? -1 : 0;
      ++end;
    } while (depth > 0 && end < sql.size());
    lines.insert(table + " " + sql.substr(start, end - start));
    start = sql.find("CHECK (", end);
  }
}

}  // namespace

std::string schema_shape(const SQLite::Database& database) {
  std::multiset<std::string> lines;
  add_rows(database,
           "SELECT type, name, strict, wr FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%'",
           "table", lines);
  SQLite::Statement tables(database, "SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0).getString();
    add_rows(database, "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo('" + table + "')",
             table + " column", lines);
    add_rows(database, "SELECT \"table\", \"from\", \"to\", on_delete FROM pragma_foreign_key_list('" + table + "')",
             table + " reference", lines);
    add_rows(database,
             "SELECT i.\"unique\", i.origin, i.partial, group_concat(c.name, ', ') FROM pragma_index_list('" + table +
                 "') i, pragma_index_info(i.name) c GROUP BY i.name",
             table + " index", lines);
    add_checks(table, tables.getColumn(1).getString(), lines);
  }
  std::string shape;
  for (const std::string& line : lines) shape += line + "\n";
  return shape;
}

}  // namespace nocturne::db::test
