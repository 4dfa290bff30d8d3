-- What a campaign knew when it began: finished campaigns, so that a resumed one knows the same.
CREATE TABLE histories (
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … the most telling first
  source_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  is_same INTEGER NOT NULL CHECK (is_same IN (0, 1)),  -- 1: same machine and workload; 0: it only ranks
  trials INTEGER NOT NULL,         -- of the source, numbers below this: it may have gone on since
  PRIMARY KEY (campaign_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX histories_by_source ON histories (source_id);
