#!/bin/bash
# Puts the page that a campaign ends with into docs/tutorial.md, between its two markers, and draws it as docs/answer-page.svg:
#   examples/sample-page.sh [CAMPAIGN]     from the database
#   examples/sample-page.sh --draw         only draws the page that docs/tutorial.md has
#
# ./quickstart leaves the campaign 'mnist'. NOCTURNE names another program, NOCTURNE_DATA another folder of data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=docs/tutorial.md campaign=${1:-mnist}
page=$(mktemp)
trap 'rm -f "$page" "$page.new"' EXIT

for marker in '<!-- page -->' '<!-- end of page -->'; do
  if [[ $(grep -cFx -- "$marker" "$target") != 1 ]]; then
    echo "$target needs the line '$marker' once" >&2
    exit 1
  fi
done
if [[ $campaign != --draw ]]; then
  program=${NOCTURNE:-build/release/bin/nocturne}
  PATH=$(cd "$(dirname "$program")" && pwd):$PATH COLUMNS=120 nocturne best "$campaign" | sed 's/^/    /; s/ *$//' >"$page"
  awk -v page="$page" '
    $0 == "<!-- end of page -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- page -->" { inside = 1; print ""; while ((getline line < page) > 0) print line; print "" }
  ' "$target" >"$page.new"
  cat "$page.new" >"$target"
fi
sed -n '/^<!-- page -->$/,/^<!-- end of page -->$/p' "$target" | sed '/^<!--/d; s/^    //' >"$page"
python3 examples/draw_page.py "nocturne best ${campaign/#--draw/mnist}" <"$page" >docs/answer-page.svg
