-- Sizes of the tensors of parameters in a run of the gate: what two trainers are compared by.
CREATE TABLE norms (
  run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … as reported
  steps INTEGER NOT NULL,          -- after so many training steps; 0: as it began
  layer TEXT NOT NULL,             -- layer and tensor
  norm REAL,                       -- Euclidean; empty where not finite
  moved REAL,                      -- Euclidean distance from the initial values; likewise
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
