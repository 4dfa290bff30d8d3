#include "tests/db/faulty_disk.hpp"

#include <sqlite3.h>

namespace nocturne::db::test {
namespace {

struct State {
  sqlite3_vfs* real = nullptr;
  Fault fault = Fault::Once;
  int left = 0;  // changes until it breaks; 0: it will not
  bool broken = false, broke = false;
  bool locks_lie = false;
};
State disk;

/// Whether this change fails.
bool fails(bool needs_room) {
  if (!disk.broken) {
    if (disk.left == 0) return false;
    --disk.left;
    if (disk.left > 0) return false;
    disk.broke = true;
    disk.broken = disk.fault != Fault::Once;
  }
  return needs_room || disk.fault != Fault::Full;
}

/// SQLite allocates szOsFile bytes: ours, and the real file behind it.
struct File {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<File*>(file)->real;
}

int close_file(sqlite3_file* file) {
  return real_of(file)->pMethods->xClose(real_of(file));
}
int read_file(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}
int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const bool was_broken = disk.broken;
  if (!fails(true)) return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
  if (disk.fault == Fault::Torn && !was_broken) real_of(file)->pMethods->xWrite(real_of(file), data, size / 2, offset);
  return disk.fault == Fault::Full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (fails(false)) return SQLITE_IOERR_TRUNCATE;
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
int sync_file(sqlite3_file*, int) {
  return fails(false) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
int lock_file(sqlite3_file* file, int level) {
  if (disk.locks_lie) return SQLITE_OK;
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int unlock_file(sqlite3_file* file, int level) {
  if (disk.locks_lie) return SQLITE_OK;
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int check_lock(sqlite3_file* file, int* reserved) {
  if (disk.locks_lie) {
    *reserved = 0;
    return SQLITE_OK;
  }
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), reserved);
}
int control_file(sqlite3_file* file, int operation, void* argument) {
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}
int sector_size(sqlite3_file* file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}
int characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}
int map_shared(sqlite3_file* file, int page, int size, int extend, void volatile** mapped) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, mapped);
}
int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  if (disk.locks_lie) return SQLITE_OK;
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void fence_shared(sqlite3_file* file) {
  real_of(file)->pMethods->xShmBarrier(real_of(file));
}
int unmap_shared(sqlite3_file* file, int remove) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

constexpr sqlite3_io_methods kMethods = {.iVersion = 2,
                                         .xClose = close_file,
                                         .xRead = read_file,
                                         .xWrite = write_file,
                                         .xTruncate = truncate_file,
                                         .xSync = sync_file,
                                         .xFileSize = size_of_file,
                                         .xLock = lock_file,
                                         .xUnlock = unlock_file,
                                         .xCheckReservedLock = check_lock,
                                         .xFileControl = control_file,
                                         .xSectorSize = sector_size,
                                         .xDeviceCharacteristics = characteristics,
                                         .xShmMap = map_shared,
                                         .xShmLock = lock_shared,
                                         .xShmBarrier = fence_shared,
                                         .xShmUnmap = unmap_shared,
                                         .xFetch = nullptr,
                                         .xUnfetch = nullptr};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* ours = reinterpret_cast<File*>(file);
  ours->real = reinterpret_cast<sqlite3_file*>(ours + 1);
  const int result = disk.real->xOpen(disk.real, name, ours->real, flags, out_flags);
  ours->base.pMethods = ours->real->pMethods != nullptr ? &kMethods : nullptr;
  return result;
}

sqlite3_vfs vfs{};

}  // namespace

FaultyDisk::FaultyDisk() {
  disk = {.real = sqlite3_vfs_find(nullptr)};
  vfs = *disk.real;
  vfs.pNext = nullptr;
  vfs.zName = "faulty";
  vfs.szOsFile = static_cast<int>(sizeof(File)) + disk.real->szOsFile;
  vfs.xOpen = open_file;
  sqlite3_vfs_register(&vfs, 1);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs);
  sqlite3_vfs_register(disk.real, 1);
}

void FaultyDisk::break_at(int count, Fault fault) {
  disk.fault = fault;
  disk.left = count;
  disk.broken = disk.broke = false;
}

void FaultyDisk::grant_every_lock() {
  disk.locks_lie = true;
}

bool FaultyDisk::fix() {
  disk.left = 0;
  disk.broken = false;
  return disk.broke;
}

}  // namespace nocturne::db::test
