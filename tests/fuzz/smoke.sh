#!/bin/bash
# Runs each fuzzer for a while, beginning with the kept seeds: tests/fuzz/README.md
#
#   smoke.sh BIN SECONDS [NAME…]     BIN: the folder with the fuzzers; NAME: only these (events, profile, …)
#
# What is new goes to found/NAME beside BIN, a finding to findings/NAME-…, its output to findings/NAME.log. Exit codes:
# 0 nothing was found, 1 something was, 2 wrong usage.
set -euo pipefail
if (($# < 2)) || ! [[ $2 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '4,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$1" && pwd) seconds=$2
shift 2
names=("$@")
if ((${#names[@]} == 0)); then
  for program in "$bin"/fuzz_*; do names+=("$(basename "$program" | sed 's/^fuzz_//')"); done
fi
cd "$bin/.."
found_any=0
for name in "${names[@]}"; do
  if ! [[ $name =~ ^[a-z_]+$ && -x $bin/fuzz_$name ]]; then
    echo "smoke.sh: there is no fuzzer '$name' in $bin" >&2
    exit 2
  fi
  mkdir -p "found/$name" findings
  dictionary=()
  if [[ -e $source_folder/dictionaries/$name ]]; then dictionary=(-dict="$source_folder/dictionaries/$name"); fi
  printf '%s ... ' "$name"
  # A single input may take ten seconds under both sanitizers on a busy machine; what takes longer hangs.
  if "$bin/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="findings/$name-" "${dictionary[@]}" "found/$name" "$source_folder/corpus/$name" \
    >"findings/$name.log" 2>&1; then
    awk '/number_of_executed_units/ { runs = $2 } /average_exec_per_sec/ { rate = $2 } END { printf "%s runs, %s/s\n", runs, rate }' \
      "findings/$name.log"
  else
    found_any=1
    printf 'FOUND SOMETHING: %s\n' "$PWD/findings/$name.log"
    grep -m 3 -E 'ERROR:|runtime error:|SUMMARY:|ALARM:' "findings/$name.log" || tail -n 3 "findings/$name.log"
  fi
done
exit $found_any
