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
