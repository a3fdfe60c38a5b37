#!/bin/sh
# Puts the pinned tools of the steps into the workspace. One that is there already, with the same checksum, stays.
#
#   TOOLS             names
#   X_URL, X_SHA256   where tool x is, as a binary or a .tar.gz that holds it
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
folder=$WORKSPACE/tools
mkdir -p "$folder/bin"

for name in $TOOLS; do
  variable=$(printf '%s' "$name" | tr 'a-z.-' 'A-Z__')
  eval "url=\$${variable}_URL sha256=\$${variable}_SHA256"
  # shellcheck disable=SC2154 # set by eval
  if [ -x "$folder/bin/$name" ] && [ "$(cat "$folder/$name.sha256" 2>/dev/null)" = "$sha256" ]; then
    log "$name is there"
    continue
  fi
  # shellcheck disable=SC2154 # set by eval
  retry 6 curl -fsSL --connect-timeout 20 --speed-limit 1000 --speed-time 60 -o "$folder/$name.part" "$url"
  if ! printf '%s  %s\n' "$sha256" "$folder/$name.part" | sha256sum -c - >/dev/null; then
    rm -f "$folder/$name.part"
    refuse "refused $url: its SHA-256 is not $sha256"
  fi
  case $url in
    *.tar.gz) tar -xzf "$folder/$name.part" -C "$folder/bin" "$name" ;;
    *) cp "$folder/$name.part" "$folder/bin/$name" ;;
  esac
  chmod 755 "$folder/bin/$name"
  rm -f "$folder/$name.part"
  printf '%s\n' "$sha256" | keep "$folder/$name.sha256"
done
