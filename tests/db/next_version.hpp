#pragma once

/// A version of the schema after the newest one, made up for tests of the way between two versions.

#include <array>

#include "db/migrations.hpp"

namespace nocturne::db::test {

/// Its one step does what steps do: adds a column, makes a table and fills it, and rebuilds a table that others refer
/// to.
[[nodiscard]] inline std::array<Migration, 1> step_to_next_version() {
  return {Migration{newest_version() + 1, "made_up", R"sql(
    ALTER TABLE events ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';
    CREATE TABLE moods (
      campaign_id INTEGER PRIMARY KEY REFERENCES campaigns (id) ON DELETE CASCADE,
      mood TEXT NOT NULL
    ) STRICT;
    INSERT INTO moods SELECT id, 'fine' FROM campaigns;
    CREATE TABLE owners_new (
      id INTEGER PRIMARY KEY,
      token TEXT NOT NULL UNIQUE,
      pid INTEGER NOT NULL,
      start_ticks INTEGER NOT NULL,
      boot_id TEXT NOT NULL,
      pid_namespace TEXT NOT NULL,
      host TEXT NOT NULL,
      since_unix_ns INTEGER NOT NULL,
      name TEXT NOT NULL DEFAULT ''
    ) STRICT;
    INSERT INTO owners_new SELECT *, 'old' FROM owners;
    DROP TABLE owners;
    ALTER TABLE owners_new RENAME TO owners;
  )sql"}};
}

}  // namespace nocturne::db::test
