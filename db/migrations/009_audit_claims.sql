-- What the model claimed of a configuration that was drawn to audit it, so that nobody need fit the model of then again.
ALTER TABLE ask_answers ADD COLUMN claimed_log_bound REAL;
ALTER TABLE ask_answers ADD COLUMN claimed_log_margin REAL;
