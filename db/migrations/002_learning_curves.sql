-- Test accuracy while a run trained, outside of its samples and epochs: its learning curve.
CREATE TABLE curve_points (
  run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … as reported
  steps INTEGER NOT NULL,          -- after so many training steps
  accuracy REAL NOT NULL,          -- 0 to 1
  loss REAL,                       -- mean over the test set; empty where not finite
  examples INTEGER NOT NULL,       -- images of the test set
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
