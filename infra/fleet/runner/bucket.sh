# shellcheck shell=bash disable=SC2034,SC2154
# The fleet bucket, read and written with the VM's own identity.

storage=${TIDEPOOL_STORAGE:-https://storage.googleapis.com}

# authorize: sets authorization, a header with a token of the VM's; asked for anew every two minutes, since a token that
# the metadata server gives out is good for longer than that.
authorization='' authorized_until=0
authorize() {
  if ((SECONDS < authorized_until)); then return 0; fi
  authorization=$(metadata service-accounts/default/token |
    sed -n 's/.*"access_token": *"\([^"]*\).*/Authorization: Bearer \1/p') && [[ -n $authorization ]] || return 1
  authorized_until=$((SECONDS + 120))
}

# get_object NAME FILE: 0 where it was read, 1 where there is none, 2 where nobody can say.
get_object() {
  local bucket status
  authorize && bucket=$(own bucket) || return 2
  status=$(curl -sS --max-time 120 -o "$2.part" -w '%{http_code}' -H @<(printf '%s' "$authorization") \
    "$storage/storage/v1/b/$bucket/o/${1//\//%2F}?alt=media") || return 2
  case $status in
    200) mv "$2.part" "$2" ;;
    # Who may not list the bucket is told 403, and not 404, of an object that is not there.
    403 | 404) return 1 ;;
    *)
      log "reading $1 was answered with $status"
      return 2
      ;;
  esac
}

# put_object NAME FILE: replaces it; a VM alone writes its objects, so no generation is asked for.
put_object() {
  local bucket
  authorize && bucket=$(own bucket) || return 1
  curl -fsS --max-time 20 -o /dev/null -H @<(printf '%s' "$authorization") -H 'Content-Type: application/json' --data-binary "@$2" \
    "$storage/upload/storage/v1/b/$bucket/o?uploadType=media&name=${1//\//%2F}"
}
