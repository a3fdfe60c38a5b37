# shellcheck shell=bash disable=SC2034,SC2154
# Whether this VM may take a job. Each check says why not.

least_disk_mb=20480 most_skew_s=30

# With nothing left on the disk no order could be read and no reason be said, so this much of it may go.
spare=$state/spare spare_bytes=1000000

give_room() {
  if [[ $dirty == yes ]]; then wipe || :; fi
  rm -f "$spare"
}

# fit IMAGE: disk, clock and the metadata server's wall. The TPU is looked at where it is cleaned.
fit() {
  disk_has_room "$1" && clock_is_right && jobs_are_walled
}

disk_has_room() {
  local free
  free=$(free_mb) || return 1
  if ((free < least_disk_mb)) && [[ -n $1 ]]; then
    log "only $free MB of disk are free: images other than the assigned one go"
    drop_other_images "$1"
    free=$(free_mb) || return 1
  fi
  if ((free < least_disk_mb)); then
    blame "the disk is full: $free MB are free and a job needs $least_disk_mb"
    return 1
  fi
  [[ -e $spare ]] || printf '%*s' "$spare_bytes" '' >"$spare"
}

free_mb() { df --output=avail -BM "$state" | tail -n 1 | tr -dc '0-9'; }

# By the metadata server, whose time is the machine's below this one: it needs neither a network nor TLS, which a wrong
# clock breaks. Should it send no date, as nothing promises that it does, the bucket's answer has one (RFC 9110, 6.6.1).
clock_is_right() {
  local theirs ours skew
  theirs=$(metadata id -o /dev/null -D - | date_of) || return 1
  if [[ -z $theirs ]]; then
    theirs=$(curl -sS --max-time 20 -o /dev/null -D - "${TIDEPOOL_STORAGE:-https://storage.googleapis.com}/" | date_of) || :
  fi
  if [[ -z $theirs ]]; then
    blame "the clock cannot be checked: neither the metadata server nor the bucket says what time it is"
    return 1
  fi
  printf -v ours '%(%s)T' -1
  skew=$((ours - $(date -d "$theirs" +%s))) || return 1
  if ((${skew#-} > most_skew_s)); then
    blame "the clock is off by $skew s"
    return 1
  fi
}

date_of() { sed -n 's/^[Dd]ate: *//p' | tr -d '\r'; }

# Set, and not looked at: a rule may be there and another before it, or the chain that it leads to may be empty.
jobs_are_walled() {
  if bash "$here/steps/build-walls.sh"; then return 0; fi
  blame "jobs cannot be kept from the metadata server"
  return 1
}
