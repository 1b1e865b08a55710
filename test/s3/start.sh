#!/usr/bin/env bash
# Runs a real S3 server on loopback until it is told to end: Ceph's RADOS gateway over one monitor and one store in memory.
# Usage: start.sh FOLDER. FOLDER/ready is written when requests are answered and holds what test/s3 needs to know.
# Needs ceph-mon, ceph-osd, radosgw and radosgw-admin (Debian: radosgw ceph-mon ceph-osd); ends with 69 where they lack.
set -eu -o pipefail
readonly folder=$(mkdir -p "$1" && cd "$1" && pwd)
readonly mon_port=$((20000 + RANDOM % 5000)) port=$((25000 + RANDOM % 5000))
readonly secret_key=$(head -c 20 /dev/urandom | base64 | tr -dc a-zA-Z0-9)
readonly encryption_key=$(head -c 32 /dev/urandom | base64 -w 0)

for program in ceph-mon ceph-osd radosgw radosgw-admin ceph-authtool monmaptool; do
  command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 69; }
done

running=()
end() {
  trap - EXIT INT TERM
  if [ "${#running[@]}" -gt 0 ]; then kill -KILL "${running[@]}" 2>/dev/null || true; fi
  rm -f "$folder/ready"
}
trap end EXIT
trap 'exit 0' INT TERM

readonly fsid=$(cat /proc/sys/kernel/random/uuid)
mkdir -p "$folder"/{mon,osd,run,log}
cat >"$folder/ceph.conf" <<CONF
[global]
fsid = $fsid
mon initial members = a
mon host = v1:127.0.0.1:$mon_port
public network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $folder/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
mon allow pool size one = true
mon warn on pool no redundancy = false
osd crush chooseleaf type = 0
osd objectstore = memstore
osd data = $folder/osd
mon data = $folder/mon
memstore device bytes = 4294967296
run dir = $folder/run
admin socket = $folder/run/\$name.asok
pid file = $folder/run/\$name.pid
log file = $folder/log/\$name.log
ms bind msgr2 = false
ms bind ipv4 = true
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = testkey=$encryption_key
rgw num rados handles = 1
rgw thread pool size = 64
CONF
export CEPH_CONF="$folder/ceph.conf"

{
  ceph-authtool --create-keyring "$folder/keyring" --gen-key -n mon. --cap mon 'allow *'
  ceph-authtool "$folder/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *'
  ceph-authtool "$folder/keyring" --gen-key -n client.rgw --cap mon 'allow rwx' --cap osd 'allow rwx'
  ceph-authtool "$folder/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
  monmaptool --create --addv a "[v1:127.0.0.1:$mon_port]" --fsid "$fsid" "$folder/monmap"
  ceph-mon -c "$CEPH_CONF" --mkfs -i a --monmap "$folder/monmap" --keyring "$folder/keyring"
} >"$folder/log/setup" 2>&1

ceph-mon -c "$CEPH_CONF" -i a -f >"$folder/log/mon" 2>&1 &
running+=($!)
run_ceph() { timeout 30 ceph -c "$CEPH_CONF" --connect-timeout 20 "$@" >>"$folder/log/setup" 2>&1; }
readonly osd_id=$(cat /proc/sys/kernel/random/uuid)
run_ceph osd new "$osd_id" 0
ceph-osd -c "$CEPH_CONF" -i 0 --mkfs --osd-uuid "$osd_id" >>"$folder/log/setup" 2>&1
ceph-osd -c "$CEPH_CONF" -i 0 -f >"$folder/log/osd" 2>&1 &
running+=($!)

timeout 60 radosgw-admin -c "$CEPH_CONF" -n client.rgw user create --uid=compact --display-name=compact \
  --access-key=compact --secret-key="$secret_key" >>"$folder/log/setup" 2>&1
radosgw -c "$CEPH_CONF" -n client.rgw -f >"$folder/log/rgw" 2>&1 &
running+=($!)
for _ in $(seq 300); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    printf '{"endpoint":"http://127.0.0.1:%s","accessKeyId":"compact","secretAccessKey":"%s","kmsKeyId":"testkey"}\n' \
      "$port" "$secret_key" >"$folder/ready.new"
    mv "$folder/ready.new" "$folder/ready"
    echo "S3 answers on http://127.0.0.1:$port after $SECONDS seconds"
    wait
  fi
  sleep 0.2
done
echo "the S3 server did not start; see $folder/log" >&2
exit 1
