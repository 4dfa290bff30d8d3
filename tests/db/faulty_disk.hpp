#pragma once

/// A disk under SQLite that breaks at a chosen write: a VFS before the real one (https://www.sqlite.org/vfs.html).

namespace nocturne::db::test {

/// What happens from the chosen write, truncation or sync on.
enum class Fault {
  Once,     ///< it fails, the next one works again
  ForGood,  ///< it fails, and so does every later one
  Torn,     ///< half of it reaches the disk, then as ForGood
  Full,     ///< no room for a write, this one and every later one; the rest works
};

/// Takes the place of SQLite's default VFS while it lives; one at a time. Real syncs are left out: what a test sees is
/// what SQLite asked for, and it asks a thousand times.
class FaultyDisk {
 public:
  FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  ~FaultyDisk();

  /// Breaks at the `count`-th change from now, counted from 1.
  void break_at(int count, Fault fault);
  /// Well again from now on. Returns whether it broke.
  bool fix();

  /// From now on every lock is granted to everybody, as some network file systems do. For files opened after it.
  void grant_every_lock();
};

}  // namespace nocturne::db::test
