#!/bin/bash
# SPDX-License-Identifier: MIT
# nc sends a file each way, byte-exact.
. tests/vm/lib.sh

need nc
lab -- 'head -c 3000000 /dev/urandom >"$OUT/file"
	kr nc -N -l 5555 <"$OUT/file" &
	kr nc -d -l 5556 >"$OUT/up" &
	lab-wait-port 5555
	lab-wait-port 5556
	wait' \
	'lab-wait-port 5555 h1
	lab-wait-port 5556 h1
	head -c 2000000 /dev/urandom >/run/file
	mark
	kr timeout 120 nc -d h1 5555 >/run/down
	cmp /run/down "$OUT/file"
	kr timeout 120 nc -N h1 5556 </run/file
	within 20 cmp /run/file "$OUT/up"
	over_rdma_only 5000000'
