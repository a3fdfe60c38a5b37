# shellcheck shell=sh
# What every step uses: what it is told, where things are, the log, retries, what is known of the sources, signing in.
# POSIX shell: the image with docker's client has no other.
#
#   WORKSPACE   the folder that all steps of a build share
#   STEP        the step's id
export LC_ALL=C TZ=UTC
: "${WORKSPACE:?the folder that the steps of a build share}"
: "${STEP:?missing, so older recipes declared this build. Next: ./tidepool up STACK, or generate the workflow anew}"
out=$WORKSPACE/out
# The pinned tools come before what an image happens to have.
PATH=$WORKSPACE/tools/bin:$PATH
# What the fetched recipes tell this step, whatever its builder was told when it was set up.
case $STEP in
  fetch | plan) ;;
  *)
    # shellcheck source=/dev/null # plan.sh writes it
    . "$out/told/$STEP"
    ;;
esac
# crane and docker read, change and write the whole file of credentials, so that steps which run at once and shared one
# would lose each other's sign-in.
DOCKER_CONFIG=$(mktemp -d)
export DOCKER_CONFIG
# finish: what a step undoes however it ends, where it has one of its own.
finish() { :; }
trap 'finish; rm -rf "$DOCKER_CONFIG"' EXIT
trap 'exit 143' INT TERM

log() { printf '%s tidepool: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >&2; }

refuse() {
  log "$*"
  exit 1
}

# retry ATTEMPTS COMMAND...: again after 2, 4, 8 ... at most 60 seconds.
retry() {
  attempts=$1 delay=2 attempt=1
  shift
  until "$@"; do
    if [ "$attempt" -ge "$attempts" ]; then
      log "gave up after $attempts attempts: $1${2+ $2}"
      return 1
    fi
    log "attempt $attempt of $attempts failed: $1${2+ $2}; again in $delay s"
    sleep "$delay"
    attempt=$((attempt + 1)) delay=$((delay * 2 > 60 ? 60 : delay * 2))
  done
}

# keep FILE: standard input, complete or not at all, also where the step is ended in the middle.
keep() {
  mkdir -p "$(dirname "$1")"
  cat >"$1.part"
  mv "$1.part" "$1"
}

# source_of FOLDER FIELD: repository, commit or seconds (when it was made, since 1970) of a checkout.
source_of() {
  awk -v folder="$1" -v field="$2" '
    BEGIN { at["repository"] = 2; at["commit"] = 3; at["seconds"] = 4 }
    $1 == folder { print $at[field] }' "$out/sources"
}

# instant SECONDS: a moment as RFC 3339 has it.
instant() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }

# plain VALUE...: refuses what JSON would have to escape. No digest, commit, place or address holds such a character.
plain() {
  for written in "$@"; do
    case $written in
      *[!A-Za-z0-9._:/@+%?=\&~\#,-]*) refuse "this value cannot be written down: $written" ;;
    esac
  done
}

# google_token: the answer of the builder's metadata server. Not every image has a wget; the one without has a Python.
google_token() {
  url=http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/service-accounts/default/token
  if command -v wget >/dev/null; then
    wget -q -T 20 -t 1 -O - --header 'Metadata-Flavor: Google' "$url"
  else
    python3 -c 'import sys, urllib.request as u
print(u.urlopen(u.Request(sys.argv[1], headers={"Metadata-Flavor": "Google"}), timeout=20).read().decode())' "$url"
  fi
}

# json_text KEY: the text of that key in the JSON object on standard input.
json_text() { sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"; }

# signed_in "PLACE..." COMMAND...: runs the command with the credentials of these places' registries, for crane and docker
# alike. Each try signs in anew: a token of a builder lives for an hour, and some builds take longer.
signed_in() {
  for signing in $1; do
    sign_in "${signing%%/*}" || return 1
  done
  shift
  "$@"
}

# sign_in HOST: once; in a shell of its own, so that nothing else ever has the token.
sign_in() (
  case $1 in
    *-docker.pkg.dev)
      answer=$(google_token) || exit 1
      token=$(printf '%s' "$answer" | json_text access_token) user=oauth2accesstoken
      ;;
    *) token=${REGISTRY_TOKEN-} user=${REGISTRY_USER:-tidepool} ;;
  esac
  [ -n "$token" ] || refuse "there is no token for $1; a builder brings one"
  printf '%s' "$token" | crane auth login "$1" --username "$user" --password-stdin
)
