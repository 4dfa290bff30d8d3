// A file that says it is a database: opened to be read, then to be written; refused with a sentence, or usable.

#include <cstdint>
#include <cstdlib>

#include "db/store.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace nocturne;

/// An error is fine anywhere; one without a sentence is not.
template <typename T>
void told(const db::Expected<T>& result) {
  if (!result && result.error().message.empty()) std::abort();
}

void read_all(const db::Store& store) {
  const auto campaigns = store.list_campaigns();
  told(campaigns);
  told(store.events({}));
  told(store.list_builds());
  told(store.gate_runs(0, 1000));
  told(store.machine_figures("k"));
  told(store.network("mnist_cnn"));
  told(store.run_folders(INT64_MAX));
  if (!campaigns) return;
  for (const db::CampaignSummary& campaign : *campaigns) {
    told(store.exchanges(campaign.id));
    told(store.comparisons(campaign.id));
    told(store.preflights(campaign.id));
    told(store.parameters(campaign.id));
    told(store.history(campaign.id));
    told(store.peaks(campaign.id));
    told(store.noise_floors("mnist_cnn/mnist/adadelta"));
    if (!campaign.fingerprint.empty()) told(store.load_fingerprint(campaign.fingerprint));
    const auto trials = store.list_trials({.campaign = campaign.id});
    told(trials);
    if (!trials) continue;
    for (const db::StoredTrial& trial : *trials) told(store.load_trial(trial.id));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  for (const char* beside : {"n.db-wal", "n.db-shm", "n.db-journal"})
    std::filesystem::remove(scratch.folder() / beside);
  const auto path = scratch.file("n.db", fuzz::as_text(data, size));
  {
    const auto store = db::Store::open(path, db::Mode::ReadOnly, {.migrate = false});
    told(store);
    if (store) read_all(*store);
  }
  auto store = db::Store::open(path, db::Mode::ReadWrite, {.busy_timeout = std::chrono::milliseconds(1)});
  told(store);
  if (!store) return 0;
  told(store->integrity_check());
  read_all(*store);  // one of an older version only now, migrated
  const auto begun = store->begin_or_resume_campaign({.name = "c", .identity = "i", .strategy = "random", .seed = 1});
  told(begun);
  if (begun) told(store->recover_interrupted(begun->id));
  return 0;
}
