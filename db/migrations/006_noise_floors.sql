-- How far apart equal programs seemed on a machine, by workload and way of measuring; and how a comparison was measured.
CREATE TABLE noise_floors (
  fingerprint_hash TEXT NOT NULL REFERENCES fingerprints (hash),  -- of the machine as it was then
  workload TEXT NOT NULL,          -- network/data/optimizer
  method TEXT NOT NULL CHECK (method IN ('sequential', 'slices', 'duet')),
  estimator TEXT NOT NULL CHECK (estimator IN ('median', 'minimum', 'paired')),  -- what a process is judged by
  steps INTEGER NOT NULL,          -- of each process
  pairs INTEGER NOT NULL,          -- of equal programs
  sd REAL NOT NULL,                -- of the log ratio of a pair
  bias REAL NOT NULL,              -- mean log ratio: zero but for chance and a side that is favoured
  pair_ns INTEGER NOT NULL,        -- how long a pair took
  measured_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (fingerprint_hash, workload, method, estimator)
) STRICT, WITHOUT ROWID;
ALTER TABLE comparisons ADD COLUMN method TEXT NOT NULL DEFAULT 'slices'
  CHECK (method IN ('sequential', 'slices', 'duet'));
ALTER TABLE comparisons ADD COLUMN estimator TEXT NOT NULL DEFAULT 'paired'
  CHECK (estimator IN ('median', 'minimum', 'paired'));
