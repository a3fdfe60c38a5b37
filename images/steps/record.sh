#!/bin/sh
# Writes the digest into the record of images, now that every place has it: the commit point. SBOM and provenance are
# put beside the record first; the record is written on condition that nobody else wrote it meanwhile.
#
#   IMAGE, PLACES    the image and where it is
#   BUILDER, BUILD   who builds, and the build's id there
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
result=$out/$IMAGE
digest=$(cat "$result/digest")
began=$(cat "$out/began")
size=$(cat "$result/size")

revision='' committed='' listed='' parents='' copied=''
while read -r _ repository commit seconds; do
  plain "$repository" "$commit" "$seconds"
  revision="$revision${revision:+,}\"$repository\":\"$commit\""
  committed="$committed${committed:+,}\"$repository\":\"$(instant "$seconds")\""
done <"$out/sources"
while read -r parent _ found; do
  plain "$parent" "$found"
  parents="$parents${parents:+,}\"$parent\":\"$found\""
done <"$result/parents"
for place in $PLACES; do
  plain "$place"
  listed="$listed${listed:+,}\"$place\""
done
for said in "$result"/copies/*; do
  case $said in
    *.log | *'*') continue ;;
  esac
  # "PLACE pushed=BYTES mounted=BYTES existing=BYTES", as the copy wrote it
  read -r place pushed mounted existing <"$said"
  plain "$place" "$pushed" "$mounted" "$existing"
  counts="\"pushed\":${pushed#*=},\"mounted\":${mounted#*=},\"existing\":${existing#*=}"
  copied="$copied${copied:+,}\"$place\":{$counts}"
done
plain "$digest" "$began" "$size" "$BUILDER" "$BUILD"
seconds=$(($(date -u +%s) - $(date -u -d "$began" +%s)))

keep "$result/build.json" <<EOF
{"digest":"$digest","revision":{$revision},"committed":{$committed},"built":"$began","build":"$BUILDER/$BUILD",
"places":[$listed],"copied":{$copied},"parents":{$parents},"size_bytes":$size,"seconds":$seconds}
EOF
# It answers with what tags shall name: this build, or the newer one that was recorded before it.
answer=$(retry 5 "$WORKSPACE/recipes/tidepool" images record "$IMAGE" --build "$result/build.json" \
  --sbom "$result/sbom.spdx.json" --provenance "$result/provenance.json" --json)
current=$(printf '%s\n' "$answer" | json_text current)
[ -n "$current" ] || refuse "images record did not say which digest of $IMAGE is current: $answer"
printf '%s\n' "$current" | keep "$result/current"

# What a job hands on, where the builder has a file for it.
if [ -n "${GITHUB_OUTPUT-}" ]; then
  printf 'digest=%s\n' "$digest" >>"$GITHUB_OUTPUT"
fi
