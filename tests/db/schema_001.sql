-- The database of Nocturne, version 1: what was asked, measured and concluded. This file is its manual.
--
-- Units are in the names: _unix_ns is nanoseconds since 1970 UTC, _ns a duration in nanoseconds, _s one in seconds.
-- *_json holds JSON text. Hashes are hexadecimal text. A column without NOT NULL is empty where nothing is known;
-- a NaN is never stored. Changing this file means a new version: see README.md, "How to add a column".

-- A process that writes here. Pid and start time name it within one boot and pid namespace, so a row tells whether its
-- owner still lives, even after the pid was given to another process or the machine was started again.
CREATE TABLE owners (
  id INTEGER PRIMARY KEY,
  token TEXT NOT NULL UNIQUE,      -- random, one for each opened store: distinguishes two stores of one process
  pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,    -- starttime of /proc/PID/stat, clock ticks since boot
  boot_id TEXT NOT NULL,           -- /proc/sys/kernel/random/boot_id
  pid_namespace TEXT NOT NULL,     -- link target of /proc/self/ns/pid: containers count pids apart
  host TEXT NOT NULL,
  since_unix_ns INTEGER NOT NULL
) STRICT;

-- The hardware and software under which something was measured.
CREATE TABLE fingerprints (
  hash TEXT PRIMARY KEY,           -- over all fields
  fields_json TEXT NOT NULL,       -- CPU, microcode, ISA, caches, memory, kernel, governor, compilers, libraries, …
  first_seen_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each generation of a campaign. Editing workload, space or objective begins a new generation.
CREATE TABLE campaigns (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 1),
  identity TEXT NOT NULL,          -- hash of workload, space and objective
  spec_json TEXT NOT NULL,         -- the campaign file as last used, extended and completed
  strategy TEXT NOT NULL,          -- as last used; each ask remembers its own
  seed INTEGER NOT NULL,           -- likewise
  fingerprint_hash TEXT REFERENCES fingerprints (hash),  -- of the machine when last begun or resumed
  is_fresh INTEGER NOT NULL CHECK (is_fresh IN (0, 1)),  -- 1: reuses no trial of other campaigns
  created_unix_ns INTEGER NOT NULL,
  opened_unix_ns INTEGER NOT NULL, -- last begun or resumed; the newest is what the name alone means
  finished_unix_ns INTEGER,        -- its budget was spent or nothing was left to propose
  UNIQUE (name, generation)
) STRICT;

-- Who tunes a campaign now. At most one; a row whose owner is dead counts for nothing and is taken over.
CREATE TABLE leases (
  campaign_id INTEGER PRIMARY KEY REFERENCES campaigns (id) ON DELETE CASCADE,
  owner_id INTEGER NOT NULL REFERENCES owners (id),
  taken_unix_ns INTEGER NOT NULL
) STRICT;

-- The parameters of a campaign's space, in the order of its file.
CREATE TABLE parameters (
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, …
  name TEXT NOT NULL,
  stage TEXT NOT NULL CHECK (stage IN ('environment', 'build', 'compile', 'run')),
  domain_json TEXT NOT NULL,       -- {"values": […]}, {"range": […], …}
  default_json TEXT NOT NULL,      -- the value in the default configuration
  active_if TEXT NOT NULL,         -- expression over other parameters; empty: always active
  unit TEXT NOT NULL,
  description TEXT NOT NULL,
  PRIMARY KEY (campaign_id, position),
  UNIQUE (campaign_id, name)
) STRICT, WITHOUT ROWID;

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

-- Each distinct configuration once; campaigns share them.
CREATE TABLE configurations (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,   -- hash of canonical_json
  canonical_json TEXT NOT NULL     -- sorted keys, no white space
) STRICT;

-- The same values as rows, for queries such as "all trials with threads = 2".
CREATE TABLE configuration_values (
  configuration_id INTEGER NOT NULL REFERENCES configurations (id) ON DELETE CASCADE,
  parameter TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('boolean', 'integer', 'real', 'text')),
  value ANY NOT NULL,              -- a boolean is 0 or 1
  PRIMARY KEY (configuration_id, parameter)
) STRICT, WITHOUT ROWID;
CREATE INDEX configuration_values_by_value ON configuration_values (parameter, value);

-- A configuration at a fidelity within a campaign, and what is thought of it now. Kept as published while it is worked
-- on; a reserved trial whose owner is dead was interrupted, and is reserved again under the same number.
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,         -- 0, 1, … as asked within the campaign; 0 is the default configuration
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  fidelity_steps INTEGER NOT NULL, -- timed steps
  trial_key TEXT NOT NULL,         -- hash of workload, configuration, fidelity, and of the fingerprint what must match
  state TEXT NOT NULL CHECK (state IN ('reserved', 'finished')),
  reserved_by INTEGER REFERENCES owners (id),  -- who works, or worked last, on it
  reserved_unix_ns INTEGER NOT NULL,
  finished_unix_ns INTEGER,
  reused_from INTEGER REFERENCES trials (id),  -- the equal trial whose runs count as its own; that one reuses nothing
  outcome TEXT,                    -- ok, unsupported, build_failed, failed, crashed, timeout, out_of_memory, diverged,
                                   -- protocol_error, killed, wrong
  reason TEXT NOT NULL DEFAULT '',
  objective_s REAL,                -- the objective: seconds at the primary horizon; only if ok
  objective_se_s REAL,             -- its standard error
  objective_runs INTEGER,          -- processes it rests on
  import_s REAL,                   -- T(N) = import + data + compile + first_step_excess
  data_s REAL,                     --        + N · (epoch_overhead + steps_per_epoch · steady_step); only if ok
  compile_s REAL,
  first_step_excess_s REAL,
  epoch_overhead_s REAL,
  steps_per_epoch REAL,            -- a count
  steady_step_s REAL,
  UNIQUE (campaign_id, number),
  CHECK ((state = 'finished') = (outcome IS NOT NULL)),
  CHECK ((outcome IS 'ok') = (objective_s IS NOT NULL))
) STRICT;
CREATE INDEX trials_by_key ON trials (trial_key, state);
CREATE INDEX trials_by_configuration ON trials (configuration_id);
CREATE INDEX trials_by_objective ON trials (campaign_id, objective_s) WHERE objective_s IS NOT NULL;
CREATE INDEX trials_by_outcome ON trials (campaign_id, state, outcome);  -- counts come from it alone
CREATE INDEX trials_by_reuse ON trials (reused_from) WHERE reused_from IS NOT NULL;

-- What was tried before the search: each software stack prepared and trained a few steps.
CREATE TABLE preflights (
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  stack_json TEXT NOT NULL,          -- values of its environment and build parameters; {}: there are none
  configuration_json TEXT NOT NULL,  -- that was trained last
  outcome TEXT NOT NULL,           -- as in trials; ok: passed, anything else: failed
  reason TEXT NOT NULL,            -- empty when ok
  too_large_json TEXT NOT NULL,    -- batches that were out of memory before it: [1024, 512]
  prepare_ns INTEGER NOT NULL,     -- environment and build
  train_ns INTEGER NOT NULL,       -- of the last run, start to end
  log_tail TEXT NOT NULL,          -- the compiler's or the worker's last words where it failed, byte for byte
  preflight_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (campaign_id, stack_json)
) STRICT, WITHOUT ROWID;

-- What the strategy was asked and told, in order: one row for each ask() and for each trial told. Replaying it rebuilds
-- the strategy, which is never serialised itself.
CREATE TABLE exchanges (
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,        -- 0, 1, … over asks and tells together
  kind TEXT NOT NULL CHECK (kind IN ('ask', 'tell')),
  PRIMARY KEY (campaign_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What was asked for. The answer stands in ask_answers.
CREATE TABLE asks (
  campaign_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  strategy TEXT NOT NULL,          -- an ask can only be replayed with the same strategy and seed
  seed INTEGER NOT NULL,
  requested INTEGER NOT NULL,      -- how many configurations were asked for
  PRIMARY KEY (campaign_id, ordinal),
  FOREIGN KEY (campaign_id, ordinal) REFERENCES exchanges (campaign_id, ordinal) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the strategy answered. A number without a row in trials is still to do.
CREATE TABLE ask_answers (
  campaign_id INTEGER NOT NULL,
  number INTEGER NOT NULL,         -- the trial's
  ordinal INTEGER NOT NULL,        -- the ask's
  configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  purpose TEXT NOT NULL CHECK (purpose IN ('search', 'audit', 'verify', 'gate')),
  reason TEXT NOT NULL,            -- why it was chosen, one clause; may be empty
  predicted_log_bound REAL,          -- of an audit: ln of the least time, in seconds, that the model thought possible
  predicted_log_margin REAL,         -- and by how much that was above the incumbent's, ln of the ratio
  PRIMARY KEY (campaign_id, number),
  FOREIGN KEY (campaign_id, ordinal) REFERENCES asks (campaign_id, ordinal) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX ask_answers_by_ordinal ON ask_answers (campaign_id, ordinal);
CREATE INDEX ask_answers_by_configuration ON ask_answers (configuration_id);

-- What the strategy was told of a trial, as it was believed then. The row of trials has what is believed now.
CREATE TABLE tells (
  campaign_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  trial_id INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  outcome TEXT NOT NULL,           -- from here on the columns mean what they mean in trials
  reason TEXT NOT NULL,
  objective_s REAL,
  objective_se_s REAL,
  objective_runs INTEGER,
  import_s REAL,
  data_s REAL,
  compile_s REAL,
  first_step_excess_s REAL,
  epoch_overhead_s REAL,
  steps_per_epoch REAL,
  steady_step_s REAL,
  PRIMARY KEY (campaign_id, ordinal),
  FOREIGN KEY (campaign_id, ordinal) REFERENCES exchanges (campaign_id, ordinal) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX tells_by_trial ON tells (trial_id);

-- One worker process, raw as measured. Objectives are computed from runs, never stored in them.
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,     -- in the worker's environment as NOCTURNE_RUN_ID
  trial_id INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
  in_flight INTEGER NOT NULL CHECK (in_flight IN (0, 1)),  -- 1: begun, its end is not stored
  purpose TEXT NOT NULL CHECK (purpose IN ('search', 'audit', 'verify', 'gate')),
  outcome TEXT NOT NULL,           -- as in trials; killed while in flight
  reason TEXT NOT NULL,
  exit_code INTEGER,               -- of a process that exited
  signal INTEGER,                  -- that ended it
  folder TEXT NOT NULL,            -- where its files are; empty once they were cleaned away
  command TEXT NOT NULL,           -- the shell line that repeats it by hand
  artifact_key TEXT NOT NULL,      -- builds.build_key of what it ran; empty: nothing was built for it
  fingerprint_hash TEXT REFERENCES fingerprints (hash),
  started_unix_ns INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL,        -- of the process, start to end
  cpu_ns INTEGER NOT NULL,         -- of it and all its descendants
  seed INTEGER NOT NULL,           -- of its training
  ready_json TEXT NOT NULL,        -- the worker's ready event: versions, threads, isa, implementations
  peak_rss_bytes INTEGER,          -- both empty: the worker did not tell
  device_bytes INTEGER,
  accuracy REAL,                   -- on the test set, 0 to 1; these three are there together or not at all
  accuracy_loss REAL,
  accuracy_examples INTEGER,
  loadavg_before REAL,             -- load average of the last minute, just before and just after
  loadavg_after REAL,
  cpu_pressure REAL,               -- share of its time in which some task of the machine waited for a CPU, 0 to 1
  memory_pressure REAL,            -- likewise for memory
  io_pressure REAL,                -- and for a disk
  steal REAL,                      -- share of CPU time that the hypervisor took, 0 to 1
  other_cpu REAL,                  -- CPU time of other processes as a share of the machine's, 0 to 1
  log_tail TEXT NOT NULL           -- the end of its output, byte for byte; may be no valid UTF-8
) STRICT;
-- With what the most memory of a trial is found by: a row of runs is long, and most readers of trials want only that.
CREATE INDEX runs_by_trial ON runs (trial_id, purpose, outcome, peak_rss_bytes, device_bytes);
CREATE INDEX runs_by_start ON runs (started_unix_ns) WHERE folder <> '';
CREATE INDEX runs_in_flight ON runs (trial_id) WHERE in_flight = 1;

-- The time of `steps` training steps of a run, synchronised at their end.
CREATE TABLE samples (
  run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … as measured
  first_step INTEGER NOT NULL,     -- 0 is the first training step of the process
  steps INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL,
  cpu_ns INTEGER NOT NULL,         -- of all threads of the worker
  data_wait_ns INTEGER NOT NULL,   -- of wall_ns, spent waiting for input
  loss REAL,                       -- of the last of these steps; empty where not finite
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- What a run did before and after its steps.
CREATE TABLE phases (
  run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … as begun
  name TEXT NOT NULL,              -- import, data, build, compile, first_step, accuracy
  wall_ns INTEGER NOT NULL,
  cpu_ns INTEGER NOT NULL,
  is_finished INTEGER NOT NULL CHECK (is_finished IN (0, 1)),  -- 0: the run ended inside it
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

-- Whole epochs of a run, where it trained any.
CREATE TABLE epochs (
  run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,       -- 0, 1, … as reported
  epoch INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL,
  loss REAL,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

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

-- What an accelerator said of itself while a run trained; no row: there was none, or it told nothing.
CREATE TABLE device_reports (
  run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  readings INTEGER NOT NULL,       -- how often it was asked; an empty column below: it does not tell that
  energy_j REAL,                   -- joules, of the whole device, from the first step to the last
  sm_clock_min_mhz REAL,           -- of its processors
  sm_clock_mean_mhz REAL,
  sm_clock_max_mhz REAL,
  memory_clock_min_mhz REAL,
  memory_clock_mean_mhz REAL,
  memory_clock_max_mhz REAL,
  temperature_min_c REAL,          -- degrees Celsius
  temperature_mean_c REAL,
  temperature_max_c REAL,
  power_min_w REAL,                -- watts
  power_mean_w REAL,
  power_max_w REAL,
  throttled_json TEXT NOT NULL     -- reason for lower clocks → share of the readings, 0 to 1; {}: never
) STRICT;

-- Two configurations measured against each other in pairs of processes that are alive together and take turns.
CREATE TABLE comparisons (
  id INTEGER PRIMARY KEY,
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id) ON DELETE CASCADE,
  candidate_configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  baseline_configuration_id INTEGER NOT NULL REFERENCES configurations (id),
  role TEXT NOT NULL,              -- select: to choose the winner; verify: fresh pairs, whose gain is reported
  method TEXT NOT NULL CHECK (method IN ('sequential', 'slices', 'duet')),  -- how its pairs are measured
  estimator TEXT NOT NULL          -- of a process's steady steps; paired: neighbouring slices
    CHECK (estimator IN ('median', 'minimum', 'paired')),
  started_unix_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX comparisons_by_campaign ON comparisons (campaign_id);

-- The pairs of a comparison. Their runs belong to the trials of the two configurations, with purpose verify.
CREATE TABLE pairs (
  comparison_id INTEGER NOT NULL REFERENCES comparisons (id) ON DELETE CASCADE,
  pair INTEGER NOT NULL,           -- 0, 1, …
  first_side TEXT NOT NULL CHECK (first_side IN ('candidate', 'baseline')),  -- which was started first
  candidate_run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  baseline_run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  PRIMARY KEY (comparison_id, pair)
) STRICT, WITHOUT ROWID;
CREATE INDEX pairs_by_candidate_run ON pairs (candidate_run);
CREATE INDEX pairs_by_baseline_run ON pairs (baseline_run);

-- The turns of a pair: consecutive steps of one worker while the other waited.
CREATE TABLE slices (
  comparison_id INTEGER NOT NULL,
  pair INTEGER NOT NULL,
  position INTEGER NOT NULL,       -- 0, 1, … over both sides, as measured
  side TEXT NOT NULL CHECK (side IN ('candidate', 'baseline')),
  first_step INTEGER NOT NULL,     -- of that worker's process, as in its samples
  steps INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL,
  PRIMARY KEY (comparison_id, pair, position),
  FOREIGN KEY (comparison_id, pair) REFERENCES pairs (comparison_id, pair) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What the pairs say about the candidate, one row a horizon.
CREATE TABLE verdicts (
  comparison_id INTEGER NOT NULL REFERENCES comparisons (id) ON DELETE CASCADE,
  horizon_epochs REAL NOT NULL,
  is_primary INTEGER NOT NULL CHECK (is_primary IN (0, 1)),  -- 1: the campaign's primary horizon
  verdict TEXT NOT NULL CHECK (verdict IN ('faster', 'slower', 'same', 'undecided')),
  log_ratio_mean REAL NOT NULL,    -- ln(T(candidate) / T(baseline)); below 0: the candidate is faster
  log_ratio_low REAL NOT NULL,     -- ends of the interval
  log_ratio_high REAL NOT NULL,
  confidence REAL NOT NULL CHECK (confidence > 0 AND confidence < 1),  -- of the interval
  pairs INTEGER NOT NULL,          -- that it rests on
  decided_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (comparison_id, horizon_epochs)
) STRICT, WITHOUT ROWID;

-- How far apart equal programs seemed on a machine: what its comparisons can tell.
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
CREATE TABLE peak_figures (
  campaign_id INTEGER PRIMARY KEY REFERENCES campaigns (id) ON DELETE CASCADE,
  peaks_json TEXT NOT NULL          -- {"figures", "network", "optimizer"}
) STRICT;

-- Artifacts in the cache of builds. Removing a folder removes the row; runs keep the key they ran with.
CREATE TABLE builds (
  build_key TEXT PRIMARY KEY,      -- hash of sources, flags, compiler and linked libraries
  program TEXT NOT NULL,
  compiler TEXT NOT NULL,          -- with its version
  flags_json TEXT NOT NULL,        -- with `native` spelled out
  folder TEXT NOT NULL,
  build_ns INTEGER NOT NULL,       -- how long it took
  size_bytes INTEGER NOT NULL,
  created_unix_ns INTEGER NOT NULL,
  last_used_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The log, for people: what happened and when.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  campaign_id INTEGER REFERENCES campaigns (id) ON DELETE CASCADE,  -- empty: of no campaign
  time_unix_ns INTEGER NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
  what TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_campaign ON events (campaign_id, time_unix_ns);
