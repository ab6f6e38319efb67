#!/bin/bash
# SPDX-License-Identifier: MIT
# nc sends a file each way, byte-exact.
. tests/vm/lib.sh

need nc
lab -- 'head -c 3000000 /dev/urandom >"$OUT/file"
	kr nc -N -l 5555 <"$OUT/file" >"$OUT/up"' \
	'lab-wait-port 5555 h1
	head -c 2000000 /dev/urandom >/run/file
	mark
	kr timeout 120 nc -N h1 5555 </run/file >/run/down
	over_rdma_only 5000000
	cmp /run/down "$OUT/file"
	within 20 cmp /run/file "$OUT/up"'
