#!/bin/bash
# SPDX-License-Identifier: MIT
# A host that reloads the module behind a dead link resets old connections.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
lab --timeout 400 -- '"$SOCKTEST" server >/dev/null 2>&1 &
	server=$!
	wait_file "$OUT/connected"
	silence
	kill -STOP $server
	pkill -KILL -P $server || true
	kill -KILL $server
	within 120 rmmod krcore
	load
	sound
	: >"$OUT/back"
	serve
	sleep 20' '
	broken silent.peer_forgets ": >\"$OUT/connected\"; wait_file \"$OUT/back\" 200"
	mark
	cases bulk.sizes
	over_rdma 100000'
