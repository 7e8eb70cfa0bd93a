#!/bin/sh
# Generates the keys of both ends and fills in the two files. Needs warren-tunnel, or WARREN_TUNNEL=wg.
set -eu
umask 077
name=${1:?"usage: keys.sh NAME-OR-ADDRESS-OF-THE-HUB"}
tool=${WARREN_TUNNEL:-warren-tunnel}
here=$(dirname "$0")
mkdir "$here/out"

hub=$($tool genkey)
site=$($tool genkey)
shared=$($tool genpsk)
hub_public=$(echo "$hub" | $tool pubkey)
site_public=$(echo "$site" | $tool pubkey)

# The keys go to sed on standard input, because every user of the machine can read arguments.
for end in hub site; do
    sed -f /dev/stdin "$here/$end.conf" >"$here/out/$end.conf" <<EDITS
s|@HUB_PRIVATE@|$hub|
s|@SITE_PRIVATE@|$site|
s|@PRESHARED@|$shared|
s|@HUB_PUBLIC@|$hub_public|
s|@SITE_PUBLIC@|$site_public|
s|@HUB_NAME@|$name|
EDITS
done
echo "written: $here/out/hub.conf $here/out/site.conf"
