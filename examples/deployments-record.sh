#!/bin/bash
# The record of deployments-cpu.json: at least two hours of tuning, its page, its trials and what the model says, in one folder. An
# interrupted record goes on where it was.
#
#   examples/deployments-record.sh FOLDER [--wall DURATION]      (default 2h)
#
# NOCTURNE names another program than build/release/bin/nocturne. Exit codes: nocturne's; 2 wrong usage.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
nocturne=${NOCTURNE:-$here/../build/release/bin/nocturne}
[[ ${1:-} == [!-]* && ($# -eq 1 || ($# -eq 3 && $2 == --wall)) ]] || { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
folder=$1 wall=${3:-2h}
mkdir -p "$folder"
db=$folder/deployments-cpu.db

"$nocturne" tune "$here/deployments-cpu.json" --wall "$wall" --db "$db"
"$nocturne" report html deployments-cpu --db "$db" --output "$folder/report.html"
"$nocturne" export deployments-cpu --db "$db" --format csv --output "$folder/trials.csv"
asked=(--interaction container,framework --interaction graph_compiler,batch)
"$nocturne" model deployments-cpu "${asked[@]}" --db "$db" --json > "$folder/model.json"
"$nocturne" model deployments-cpu "${asked[@]}" --db "$db" | tee "$folder/model.txt"
