#!/bin/bash
# What stands in for a program: writes down how it was called, then does as the first answer that fits says.
#
#   . standin.sh HOME PROGRAM ARGUMENT...
#
# HOME is the folder of `programs.Programs`. `date` and `sleep` are not written down: they share a clock that only sleeping
# moves, so that what waits for an hour takes no time. A shell, since a job makes dozens of calls.
home=$1 program=$2
shift 2
words="$*"

# number FILE OTHERWISE: into `found`.
number() {
  found=$2
  if [[ -e $home/$1 ]]; then read -r found <"$home/$1"; fi
}

# fits NUMBER SKIP TIMES WORDS OUT ERR CODE EFFECT BLOCKS: leaves by CODE where it holds. One that blocks says that it was
# reached, and waits until it is killed.
fits() {
  [[ $words =~ $4 ]] || return 0
  number "given-$1" 0
  echo $((found + 1)) >"$home/given-$1"
  ((found >= $2)) || return 0
  if [[ -n $3 ]] && ((found >= $2 + $3)); then return 0; fi
  if [[ -n $8 ]]; then PATH=/usr/bin:/bin /bin/sh -ec "$8"; fi
  printf %s "$5"
  printf %s "$6" >&2
  if [[ -n $9 ]]; then
    echo reached >"$home/reached"
    read -r _ <"$home/never"
  fi
  exit "$7"
}

number clock 1800000000
case $program in
  date) exec /bin/date --date="@$found" "$@" ;;
  sleep)
    now=$found
    number pace 1
    echo $((now + found * $1)) >"$home/clock"
    exit 0
    ;;
esac

printf '%s\0' "$program" "$#" "$@" >>"$home/calls"
if [[ -e $home/answers-$program ]]; then
  # shellcheck source=/dev/null
  . "$home/answers-$program"
fi
case "$program $words" in
  'timeout '*) exec /usr/bin/timeout "$@" ;;
esac
