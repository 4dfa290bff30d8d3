#!/bin/sh
# Mails the result of a campaign, with its page attached, when the session is over:
#   nocturne tune CAMPAIGN.json --until 07:00 --on-finish examples/mail-report.sh --on-finish-arg you@example.org
#
# Needs sendmail(8), which any mail server and msmtp-mta bring along. Names of users and hosts are left out of the page.
set -eu
PATH=$PATH:/usr/sbin:/usr/lib

subject="$NOCTURNE_CAMPAIGN: ${NOCTURNE_VERDICT:-no verdict}"
if [ -n "${NOCTURNE_GAIN_PERCENT:-}" ]; then
  subject="$subject, gain $NOCTURNE_GAIN_PERCENT % ($NOCTURNE_GAIN_LOW_PERCENT to $NOCTURNE_GAIN_HIGH_PERCENT %)"
fi
part() { printf '\n--part-of-nocturne\n'; printf '%s\n' "$@" 'Content-Transfer-Encoding: base64' ''; base64; }

{
  printf '%s\n' "To: $1" "Subject: =?UTF-8?B?$(printf %s "$subject" | base64 -w 0)?=" 'MIME-Version: 1.0' \
    'Content-Type: multipart/mixed; boundary=part-of-nocturne'
  printf '%s\n' "$subject" "The session ended: $NOCTURNE_ENDING. ${NOCTURNE_BECAUSE:-}" "Profile: ${NOCTURNE_PROFILE:-none}" |
    part 'Content-Type: text/plain; charset=utf-8'
  if [ -n "${NOCTURNE_REPORT:-}" ]; then
    part 'Content-Type: text/html; charset=utf-8' 'Content-Disposition: attachment; filename=report.html' <"$NOCTURNE_REPORT"
  fi
  printf '\n--part-of-nocturne--\n'
} | sendmail -t
