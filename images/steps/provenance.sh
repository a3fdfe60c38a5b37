#!/bin/sh
# Writes down how the image was made, as an in-toto statement of SLSA provenance v1 (https://slsa.dev/spec/v1.0/provenance):
# builder, build, commits, bases, downloads and parents by digest, and the build's parameters. It holds no secret.
#
#   IMAGE, PLACE          the image and its first place
#   ARGUMENTS, PLATFORMS  as for build.sh
#   BUILDER, BUILD        who builds, and the build's id there
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
result=$out/$IMAGE
digest=$(cat "$result/digest")
began=$(cat "$out/began")
recipes=$(source_of recipes repository)

parameters='' dependencies='' separator=''
dependency() {
  plain "$1" "$3"
  dependencies="$dependencies$separator{\"uri\":\"$1\",\"digest\":{\"$2\":\"$3\"}}" separator=,
}
while read -r _ repository commit _; do
  dependency "git+https://github.com/$repository@$commit" gitCommit "$commit"
done <"$out/sources"
while read -r _ origin parent; do
  dependency "oci://$origin" sha256 "${parent#sha256:}"
done <"$result/parents"
for name in $ARGUMENTS; do
  eval "value=\$$name"
  # shellcheck disable=SC2154 # set by eval
  plain "$value"
  parameters="$parameters${parameters:+,}\"$name\":\"$value\""
  case $name in
    *_IMAGE) dependency "oci://${value%@*}" sha256 "${value#*@sha256:}" ;;
    *_URL)
      eval "sha256=\$${name%_URL}_SHA256"
      # shellcheck disable=SC2154 # set by eval
      dependency "$value" sha256 "$sha256"
      ;;
  esac
done
plain "$IMAGE" "$PLACE" "$PLATFORMS" "$BUILDER" "$BUILD" "$recipes" "$began"

keep "$result/provenance.json" <<EOF
{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"$PLACE","digest":{"sha256":"${digest#sha256:}"}}],
"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{
"buildType":"https://github.com/$recipes/blob/main/docs/images.md#how-a-build-runs",
"externalParameters":{"image":"$IMAGE","platforms":"$PLATFORMS"},"internalParameters":{$parameters},
"resolvedDependencies":[$dependencies]},"runDetails":{"builder":{"id":"https://github.com/$recipes#$BUILDER"},
"metadata":{"invocationId":"$BUILD","startedOn":"$began"}}}}
EOF
