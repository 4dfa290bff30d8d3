-- What was tried before the search: each row prepared and trained a few steps.
CREATE TABLE rehearsals (
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  row_json TEXT NOT NULL,          -- values of its environment and build parameters; {}: there are none
  configuration_json TEXT NOT NULL,  -- that was trained last
  outcome TEXT NOT NULL,           -- as in trials; ok: go, anything else: no-go
  reason TEXT NOT NULL,            -- empty when ok
  too_large_json TEXT NOT NULL,    -- batches that were out of memory before it: [1024, 512]
  prepare_ns INTEGER NOT NULL,     -- environment and build
  train_ns INTEGER NOT NULL,       -- of the last run, start to end
  log_tail TEXT NOT NULL,          -- the compiler's or the worker's last words where it failed, byte for byte
  rehearsed_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (campaign_id, row_json)
) STRICT, WITHOUT ROWID;
