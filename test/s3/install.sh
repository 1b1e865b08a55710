#!/usr/bin/env bash
# Installs Ceph's S3 server on Debian and its like, without changing what is there; ends with 69 where it cannot.
set -u
if command -v radosgw >/dev/null && command -v ceph-mon >/dev/null && command -v ceph-osd >/dev/null; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then exit 69; fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq -y --no-install-recommends radosgw ceph-mon ceph-osd || exit 69
