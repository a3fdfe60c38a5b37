# Runs one command in one image of the lab's own, with secrets that the VM's account reads. After vm_first.sh.
# shellcheck disable=SC2154 # vm_first.sh asked for them
token() { ask service-accounts/default/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/'; }

# The value of a secret, which the API answers in base64 within JSON.
secret() {
  curl -fsS --retry 5 --retry-all-errors -H @<(printf 'Authorization: Bearer %s' "$(token)") \
    "https://secretmanager.googleapis.com/v1/projects/$project/secrets/$1/versions/latest:access" |
    sed -n 's/.*"data": *"\([^"]*\)".*/\1/p' | base64 --decode
}

project=$(curl -fsS --retry 5 -H 'Metadata-Flavor: Google' "${INSTANCE%/instance}/project/project-id") || end 70
secrets=$(ask attributes/tidepool-secrets) || end 70
while read -r name id; do
  [ -n "$name" ] || continue
  value=$(secret "$id") || { echo "the secret $id could not be read" && end 70; }
  [ -n "$value" ] || { echo "the secret $id is empty" && end 70; }
  printf '%s=%s\n' "$name" "$value" >>"$TOLD"
done <<<"$secrets"

# Nobody but the slice's own hosts reaches what the run listens with.
isolate
token | docker login -u oauth2accesstoken --password-stdin "https://${image%%/*}" || end 70
docker pull --quiet "$image" || end 70
printf 'running' | say phase

# The hosts of a slice find one another on the host's network, and there the library reads which slice it is.
timeout --kill-after=60 --signal=TERM "$limit" \
  docker run --rm --name run --network host --shm-size=100g --stop-timeout=30 \
  --cap-add=SYS_RESOURCE --ulimit memlock=68719476736:68719476736 \
  "${devices[@]}" --env-file "$TOLD" "$image" "${command[@]}"
end $?
