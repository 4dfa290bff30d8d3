// A file that says it is a database: opened to be read, then to be written; refused with a sentence, or usable.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace nocturne;

/// An error is fine anywhere; one without a sentence, or anything else that is thrown, is not.
template <typename Work>
void told(const Work& work) {
  try {
    work();
  } catch (const db::Error& error) {
    if (std::string_view(error.what()).empty()) std::abort();
  }
}

void read_all(const db::Store& store) {
  told([&] { static_cast<void>(store.events({})); });
  told([&] { static_cast<void>(store.list_builds()); });
  told([&] { static_cast<void>(store.gate_runs(0, 1000)); });
  told([&] { static_cast<void>(store.machine_figures("k")); });
  told([&] { static_cast<void>(store.network("mnist_cnn")); });
  told([&] { static_cast<void>(store.run_folders(INT64_MAX)); });
  std::vector<db::CampaignSummary> campaigns;
  told([&] { campaigns = store.list_campaigns(); });
  for (const db::CampaignSummary& campaign : campaigns) {
    told([&] { static_cast<void>(store.exchanges(campaign.id)); });
    told([&] { static_cast<void>(store.comparisons(campaign.id)); });
    told([&] { static_cast<void>(store.preflights(campaign.id)); });
    told([&] { static_cast<void>(store.parameters(campaign.id)); });
    told([&] { static_cast<void>(store.history(campaign.id)); });
    told([&] { static_cast<void>(store.peaks(campaign.id)); });
    told([&] { static_cast<void>(store.noise_floors("mnist_cnn/mnist/adadelta")); });
    told([&] { static_cast<void>(store.find_fingerprint(campaign.fingerprint)); });
    std::vector<db::StoredTrial> trials;
    told([&] { trials = store.list_trials({.campaign = campaign.id}); });
    for (const db::StoredTrial& trial : trials) told([&] { static_cast<void>(store.load_trial(trial.id)); });
  }
}

void write(db::Store& store) {
  told([&] { static_cast<void>(store.integrity_check()); });
  told([&] {
    const auto begun = store.begin_or_resume_campaign({.name = "c", .identity = "i", .strategy = "random", .seed = 1});
    store.recover_interrupted(begun.id);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  for (const char* beside : {"n.db-wal", "n.db-shm", "n.db-journal"})
    std::filesystem::remove(scratch.folder() / beside);
  const auto path = scratch.file("n.db", fuzz::as_text(data, size));
  told([&] { read_all(db::Store::open(path, db::Mode::ReadOnly, {.migrate = false})); });
  told([&] {
    auto store = db::Store::open(path, db::Mode::ReadWrite, {.busy_timeout = std::chrono::milliseconds(1)});
    read_all(store);
    write(store);
  });
  return 0;
}
