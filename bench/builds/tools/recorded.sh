# shellcheck shell=sh
# What every recorded tool does first: write down the call (noted), and most then do what the fault says (called).
# Signing in is only noted, so that a fault strikes what the step is there for.
#
#   TIDEPOOL_STEP    the step that calls
#   TIDEPOOL_CALLS   the file of calls: step, tool, arguments, tab-separated
#   TIDEPOOL_FAULT   tools: every call fails; once: the step's first one does; term: the step is ended at its first one
noted() { printf '%s\t%s\t%s\n' "$TIDEPOOL_STEP" "${0##*/}" "$*" >>"$TIDEPOOL_CALLS"; }

called() {
  noted "$@"
  mark=$TIDEPOOL_CALLS.$TIDEPOOL_STEP.fault
  case ${TIDEPOOL_FAULT-} in
    tools)
      echo "${0##*/}: fails on purpose" >&2
      exit 1
      ;;
    once)
      if [ ! -e "$mark" ]; then
        : >"$mark"
        echo "${0##*/}: fails once on purpose" >&2
        exit 1
      fi
      ;;
    term)
      if [ ! -e "$mark" ]; then
        : >"$mark"
        kill -TERM 0
      fi
      ;;
  esac
}

# signed_in HOST: refuses as a registry does, where docker's configuration has no sign-in to it.
signed_in() {
  if ! grep -qs "\"$1\"" "${DOCKER_CONFIG:-$HOME/.docker}/config.json"; then
    echo "${0##*/}: $1 answers 401 UNAUTHORIZED: nobody signed in to it" >&2
    exit 1
  fi
}
