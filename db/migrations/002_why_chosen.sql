-- Why the strategy chose a configuration: to search, or to audit what it ruled out; and its own words.
ALTER TABLE ask_answers ADD COLUMN purpose TEXT NOT NULL DEFAULT 'search'
  CHECK (purpose IN ('search', 'audit', 'verify', 'gate'));
ALTER TABLE ask_answers ADD COLUMN reason TEXT NOT NULL DEFAULT '';
