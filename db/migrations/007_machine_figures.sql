-- What machines can do at best, as nocturne-machine measured it: one row a machine, its newest figures.
CREATE TABLE machine_figures (
  machine_key TEXT PRIMARY KEY,    -- digest of the fields of the fingerprint that decide what a machine can do
  fields_json TEXT NOT NULL,       -- these fields, name to value
  figures_json TEXT NOT NULL,      -- kernels/machine/README.md, "JSON"; the GPUs' with it
  measured_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What training a network takes, as our worker describes it: layers, shapes, operations. A fact of the network's name.
CREATE TABLE networks (
  name TEXT PRIMARY KEY,
  description_json TEXT NOT NULL,  -- of nocturne-onednn --describe
  described_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a campaign's model knew of both when it began: resumed, it must know the same, or it would ask otherwise.
CREATE TABLE roofs (
  campaign_id INTEGER PRIMARY KEY REFERENCES campaigns (id) ON DELETE CASCADE,
  roof_json TEXT NOT NULL          -- {"figures", "network", "optimizer"}
) STRICT;
