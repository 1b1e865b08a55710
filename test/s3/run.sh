#!/usr/bin/env bash
# Starts a real S3 server, runs the tests that want one, and ends it.
set -u
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
test/s3/start.sh "$folder" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 450); do
  if [ -e "$folder/ready" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.2
done
if [ ! -e "$folder/ready" ]; then
  tail -n 20 "$folder"/log/* >&2
  echo "the S3 server did not start" >&2
  exit 1
fi
COMPACT_TEST_S3="$folder/ready" COMPACT_FAULTS=all npx vitest run test/s3
