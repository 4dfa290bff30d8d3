/// COMMAND DATABASE ARGUMENTS…: a second process for the tests of the store.
///
///   tune NAME COUNT              finishes trials 0 … COUNT - 1, a line "finished N" after each
///   tune-and-die NAME COUNT      likewise, and then kills itself
///   watch                        reads all there is again and again until it is killed; a line now and then
///   die-after-reservation NAME         reservation trial 0, begins a run, and kills itself
///   die-inside NAME N            kills itself as the N-th statement of finish_trial() begins; 0: at its commit
///   die-migrating N              opens a file of this version with the step to a made-up next one, and kills itself as
///                                the N-th statement begins; 0: at the commit
///   hold NAME                    begins the campaign, says "held", and waits for ever
///   open-as-nobody read|write    gives up root's rights, opens, and prints "CODE MESSAGE"
///   fill NAME                    on a file system of its own of 1 MiB, writes until it is full; makes room; goes on
///   fill-copy NAME               on a file system of its own that has no room for a copy: writes; makes room; writes
///   read-only NAME               on a file system of its own, which is mounted read-only then: writes and reads
///
/// nfs:COMMAND: the same, where the file system says that it is a network's.

#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "tests/db/next_version.hpp"
#include "tests/support/small_disk.hpp"

namespace {

using namespace nocturne;

[[noreturn]] void die() {
  ::raise(SIGKILL);
  std::abort();
}

void print(const db::Error& error) {
  std::cout << "error " << static_cast<int>(error.code) << ' ' << error.what() << std::endl;
}

bool on_nfs = false;

db::StoreOptions store_options() {
  db::StoreOptions options;
  if (on_nfs) {
    options.network.file_system = [](const std::filesystem::path&) {
      return db::FileSystem{.type = "nfs", .remote = true};
    };
  }
  return options;
}

db::Store open_to(db::Mode mode, const std::string& path) {
  return db::Store::open(path, mode, store_options());
}

db::CampaignRecord campaign(const std::string& name) {
  return {.name = name, .identity = "identity-of-" + name, .strategy = "random", .seed = 1};
}

db::TrialReservation reservation(std::int64_t number) {
  space::Configuration configuration;
  configuration.set("threads", number);
  return {.number = number, .configuration = configuration, .fidelity = {.steps = 40}, .key = std::to_string(number)};
}

db::RunRecord run(const std::string& campaign, std::int64_t number, std::int64_t samples) {
  db::RunRecord record;
  record.run.id = campaign;
  record.run.id.append("-").append(std::to_string(number));
  record.run.outcome = space::Outcome::Ok;
  record.run.folder = "/runs/";
  record.run.folder += record.run.id;
  for (std::int64_t i = 0; i < samples; ++i) {
    record.run.samples.push_back({.first_step = i,
                                  .steps = 1,
                                  .wall = std::chrono::nanoseconds(1000 + i),
                                  .cpu = {},
                                  .data_wait = {},
                                  .loss = 1.0});
  }
  return record;
}

db::TrialResult result(std::int64_t number) {
  return {.outcome = space::Outcome::Ok,
          .reason = "",
          .estimate = space::Estimate{.value = 10.0 + static_cast<double>(number), .standard_error = 0.1, .runs = 1},
          .parts = space::Parts{.steady_step = 0.01}};
}

void one_trial(db::Store& store, db::CampaignId id, const std::string& name, std::int64_t number,
               std::int64_t samples) {
  const auto trial = store.reserve_trial(id, reservation(number));
  db::RunRecord record = run(name, number, samples);
  record.run.id.append("-").append(std::to_string(::getpid()));  // an interrupted run keeps its own id
  store.begin_run(trial, record);
  store.finish_trial(trial, result(number), std::span(&record, 1));
}

void tune(const std::string& path, const std::string& name, std::int64_t count, bool dies) {
  db::Store store = open_to(db::Mode::ReadWrite, path);
  const auto handle = store.begin_or_resume_campaign(campaign(name));
  store.recover_interrupted(handle.id);
  for (std::int64_t number = handle.finished; number < count; ++number) {
    one_trial(store, handle.id, name, number, 20);
    std::cout << "finished " << number << std::endl;
  }
  if (dies) die();
}

[[noreturn]] void watch(const std::string& path) {
  for (std::size_t seen = 0, first = 1;; first = 0) {
    const db::Store store = open_to(db::Mode::ReadOnly, path);
    const auto campaigns = store.list_campaigns();
    for (const auto& each : campaigns) static_cast<void>(store.best(each.id));
    const std::size_t now = store.list_trials({}).size();
    if (first != 0 || now / 100 != seen / 100) std::cout << "saw " << now << std::endl;
    seen = now;
  }
}

void die_after_reservation(const std::string& path, const std::string& name) {
  db::Store store = open_to(db::Mode::ReadWrite, path);
  const auto handle = store.begin_or_resume_campaign(campaign(name));
  const auto trial = store.reserve_trial(handle.id, reservation(0));
  store.begin_run(trial, run(name, 0, 0));
  die();
}

// Counts down from the moment it is set; -1: not set.
int statements_until_death = -1;
bool die_at_commit = false;

int on_statement(unsigned, void*, void*, void*) {
  if (statements_until_death > 0) --statements_until_death;
  if (statements_until_death == 0) die();
  return 0;
}

int on_commit(void*) {
  if (die_at_commit) die();
  return 0;
}

/// SQLite calls this for every connection it opens; so the store's own is reached.
int hook(sqlite3* connection, char**, const sqlite3_api_routines*) {
  sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, on_statement, nullptr);
  sqlite3_commit_hook(connection, on_commit, nullptr);
  return SQLITE_OK;
}

void die_inside(const std::string& path, const std::string& name, int statement) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(hook));
  db::Store store = open_to(db::Mode::ReadWrite, path);
  const auto handle = store.begin_or_resume_campaign(campaign(name));
  const auto trial = store.reserve_trial(handle.id, reservation(0));
  statements_until_death = statement == 0 ? -1 : statement;
  die_at_commit = statement == 0;
  const db::RunRecord record = run(name, 0, 5);
  store.finish_trial(trial, result(0), std::span(&record, 1));
  statements_until_death = -1;
  std::cout << "survived" << std::endl;
}

void die_migrating(const std::string& path, int statement) {
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(hook));
  const auto steps = db::test::step_to_next_version();
  statements_until_death = statement == 0 ? -1 : statement;
  die_at_commit = statement == 0;
  db::StoreOptions options = store_options();
  options.migrations = steps;
  static_cast<void>(db::Store::open(path, db::Mode::ReadWrite, options));
  statements_until_death = -1;
  std::cout << "survived" << std::endl;
}

void hold(const std::string& path, const std::string& name) {
  db::Store store = open_to(db::Mode::ReadWrite, path);
  store.begin_or_resume_campaign(campaign(name));
  std::cout << "held" << std::endl;
  for (;;) ::pause();
}

void open_as_nobody(const std::string& path, const std::string& mode) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
    std::cout << "skip cannot give up the rights of root" << std::endl;
    return;
  }
  auto store = db::Store::open(path, mode == "write" ? db::Mode::ReadWrite : db::Mode::ReadOnly);
  std::cout << "opened " << store.list_campaigns().size() << std::endl;
}

void fill(const std::string& path, const std::string& name) {
  const std::string folder = std::filesystem::path(path).parent_path();
  if (const std::string why = test::mount_small_disk(folder, "1m"); !why.empty()) {
    std::cout << "skip " << why << std::endl;
    return;
  }
  const std::string ballast = folder + "/ballast";
  std::ofstream(ballast) << std::string(256 * 1024, 'x');
  db::Store store = db::Store::open(path, db::Mode::ReadWrite);
  const auto handle = store.begin_or_resume_campaign(campaign(name));
  std::int64_t number = 0;
  try {
    for (; number < 1000; ++number) one_trial(store, handle.id, name, number, 500);
  } catch (const db::Error& error) {
    print(error);
  }
  std::cout << "finished " << number << std::endl;
  std::filesystem::remove(ballast);
  std::cout << "stored " << store.list_trials({.state = db::TrialState::Finished}).size() << std::endl;
  std::cout << "problems " << store.integrity_check().size() << std::endl;
  one_trial(store, handle.id, name, number, 20);
  std::cout << "went on" << std::endl;
}

void fill_copy(const std::string& path, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (const std::string why = test::mount_small_disk(folder, "8m"); !why.empty()) {
    std::cout << "skip " << why << std::endl;
    return;
  }
  db::StoreOptions options = store_options();
  options.network.copy_after_commits = 1;
  options.network.copying_share = 0;
  db::Store store = db::Store::open(path, db::Mode::ReadWrite, options);
  const auto handle = store.begin_or_resume_campaign(campaign(name));
  std::int64_t number = 0;
  for (; number < 40; ++number) one_trial(store, handle.id, name, number, 500);
  const auto tell = [&](const std::string& when) {
    const auto reader = open_to(db::Mode::ReadOnly, path);
    std::cout << when << ": written " << number << ", seen "
              << reader.list_trials({.state = db::TrialState::Finished}).size() << ", problems "
              << reader.integrity_check().size() << ", half a copy " << std::filesystem::exists(path + "-copy.new")
              << std::endl;
  };
  tell("room");
  const auto ballast = folder / "ballast";
  constexpr std::uintmax_t kLeft = 400 * 1024;
  std::ofstream(ballast) << std::string(std::filesystem::space(folder).available - kLeft, 'x');
  for (; number < 42; ++number) one_trial(store, handle.id, name, number, 20);
  tell("full");
  std::filesystem::remove(ballast);
  one_trial(store, handle.id, name, number++, 20);
  tell("room again");
}

/// What happens to one who opens, as a line.
void try_open(const std::string& what, const std::string& path, db::Mode mode) {
  try {
    const auto store = db::Store::open(path, mode);
    std::cout << what << " opened " << store.list_trials({.state = db::TrialState::Finished}).size() << std::endl;
  } catch (const db::Error& error) {
    std::cout << what << ' ';
    print(error);
  }
}

void read_only(const std::string& path, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path() / "disk";
  std::filesystem::create_directories(folder);
  if (const std::string why = test::mount_small_disk(folder, "16m"); !why.empty()) {
    std::cout << "skip " << why << std::endl;
    return;
  }
  const std::string closed = folder / "closed.db", killed = folder / "killed.db";
  {
    db::Store store = db::Store::open(closed, db::Mode::ReadWrite);
    const auto handle = store.begin_or_resume_campaign(campaign(name));
    one_trial(store, handle.id, name, 0, 20);
    for (const char* each : {"", "-wal", "-shm"})  // as a killed one leaves them
      std::filesystem::copy_file(closed + each, killed + each);
  }
  if (::mount(nullptr, folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    std::cout << "skip cannot mount it read-only: " << std::strerror(errno) << std::endl;
    return;
  }
  for (const std::string& each : {closed, killed}) {
    try_open("write", each, db::Mode::ReadWrite);
    try_open("read", each, db::Mode::ReadOnly);
  }
  try_open("new", folder / "new" / "n.db", db::Mode::ReadWrite);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "COMMAND DATABASE ARGUMENTS…\n";
    return 2;
  }
  std::string command = argv[1];
  on_nfs = command.starts_with("nfs:");
  if (on_nfs) command.erase(0, 4);
  const std::string path = argv[2];
  const std::string first = argv[3];
  const int number = argc > 4 ? static_cast<int>(std::strtol(argv[4], nullptr, 10)) : 0;
  const std::map<std::string, std::function<void()>> commands = {
      {"tune", [&] { tune(path, first, number, false); }},
      {"tune-and-die", [&] { tune(path, first, number, true); }},
      {"watch", [&] { watch(path); }},
      {"die-after-reservation", [&] { die_after_reservation(path, first); }},
      {"die-inside", [&] { die_inside(path, first, number); }},
      {"die-migrating", [&] { die_migrating(path, static_cast<int>(std::strtol(first.c_str(), nullptr, 10))); }},
      {"hold", [&] { hold(path, first); }},
      {"open-as-nobody", [&] { open_as_nobody(path, first); }},
      {"fill", [&] { fill(path, first); }},
      {"fill-copy", [&] { fill_copy(path, first); }},
      {"read-only", [&] { read_only(path, first); }},
  };
  try {
    commands.at(command)();
  } catch (const db::Error& error) {
    print(error);
    return 1;
  }
  return 0;
}
