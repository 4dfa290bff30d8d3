#!/bin/sh
# REAL PACKAGES SELF ARGUMENT...: the Python REAL under another name, SELF, whose virtual environments come with a copy of the pip
# that is installed in PACKAGES. ensurepip, which is left out there, takes some seconds each time.
real=$1 installed=$2 self=$3
shift 3
case "$1 $2 $3" in
  '-I -m venv')
    "$real" "$@" || exit
    for folder; do :; done  # the last argument
    for packages in "$folder"/lib/python3*/site-packages; do
      cp -Rp "$installed/pip" "$installed"/pip-*.dist-info "$packages" || exit
      echo 'import os, sys; "ensurepip" in getattr(sys, "orig_argv", []) and os._exit(0)' >"$packages/pip_is_there.pth"
    done
    ;;
  '-I -c '*)  # who it is, for one
    answer=$("$real" "$@") || exit
    printf '%s\n' "$answer" | sed "s|^\\[\"[^\"]*\"|[\"$self\"|"
    ;;
  *) exec "$real" "$@" ;;
esac
