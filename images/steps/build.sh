#!/bin/sh
# Builds one image with BuildKit, once: an OCI layout that is pushed later, and the same layers in docker for the smoke
# test. Nothing is pushed here.
#
#   IMAGE       its name and that of its folder
#   CONTEXT     recipes or source: the checkout that the build reads; the image's own folder is the context `recipe`
#   PLATFORMS   as BuildKit takes them
#   ARGUMENTS   build arguments, by name; their values are variables of the same names
#   PARENTS     "ARGUMENT=IMAGE=PLACE": images of this or an earlier build that this one is FROM
#   BUILDKIT    the BuildKit to build with, by digest
#   REGISTRIES  hosts to sign in to: of parents, of the mirror that bases come through, of the cache
#   CACHE       where layers of the day's builds are kept, without tag; empty where nowhere
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
folder=$WORKSPACE/recipes/images/$IMAGE
result=$out/$IMAGE

SOURCE_DATE_EPOCH=$(source_of "$CONTEXT" seconds)
REVISION=$(source_of "$CONTEXT" commit)
CREATED=$(instant "$SOURCE_DATE_EPOCH")
SOURCE=https://github.com/$(source_of "$CONTEXT" repository)
export SOURCE_DATE_EPOCH REVISION CREATED SOURCE

# An argument without a value is taken from the environment.
set -- --file "$folder/Dockerfile" --build-context "recipe=$folder" --provenance=false --sbom=false
for name in $ARGUMENTS SOURCE_DATE_EPOCH REVISION CREATED SOURCE; do
  set -- "$@" --build-arg "$name"
done
mkdir -p "$result"
: >"$result/parents.part"
for each in $PARENTS; do
  argument=${each%%=*} rest=${each#*=}
  parent=${rest%%=*} place=${rest#*=}
  digest=$(cat "$out/$parent/digest")
  export "$argument=$place@$digest"
  set -- "$@" --build-arg "$argument"
  printf '%s %s %s\n' "$parent" "$place" "$digest" >>"$result/parents.part"
done
mv "$result/parents.part" "$result/parents"

# Builders are known to buildx by a folder, which all images of a build share although their credentials are apart.
export BUILDX_CONFIG="$WORKSPACE/buildx"
builder=tidepool
if ! docker buildx inspect "$builder" >/dev/null 2>&1; then
  retry 3 signed_in "$REGISTRIES" \
    docker buildx create --name "$builder" --driver docker-container --driver-opt "image=$BUILDKIT" --bootstrap
fi
# A cache is of one day: what a layer took from a package archive without naming its version is never older than that.
cache=''
if [ -n "$CACHE" ]; then
  today=$(date -u +%Y%m%d)
  stored=mode=max,image-manifest=true,oci-mediatypes=true,ignore-error=true
  cache="--cache-from type=registry,ref=$CACHE:$today --cache-to type=registry,ref=$CACHE:$today,$stored"
fi
rm -rf "$result/oci" "$result/oci.part"
retry 5 signed_in "$REGISTRIES" true
# shellcheck disable=SC2086 # one word an option
docker buildx build --builder "$builder" "$@" --platform "$PLATFORMS" $cache \
  --output "type=oci,dest=$result/oci.part,tar=false,rewrite-timestamp=true" "$WORKSPACE/$CONTEXT"
# Nothing is built a second time: all of it is in BuildKit's cache.
docker buildx build --builder "$builder" "$@" --load --tag "tidepool/$IMAGE:built" "$WORKSPACE/$CONTEXT"

digest=$(tr -d ' \n' <"$result/oci.part/index.json" | grep -o '"digest":"sha256:[0-9a-f]\{64\}"' | cut -d '"' -f 4)
case ${digest#sha256:} in
  '' | *[!0-9a-f]*) refuse "the build of $IMAGE has not exactly one manifest" ;;
esac
find "$result/oci.part/blobs" -type f -exec stat -c %s {} + | awk '{ sum += $1 } END { print sum }' | keep "$result/size"
mv "$result/oci.part" "$result/oci"
printf '%s\n' "$digest" | keep "$result/digest"
log "$IMAGE is $digest, $(cat "$result/size") bytes"
