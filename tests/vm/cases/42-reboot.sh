#!/bin/bash
# SPDX-License-Identifier: MIT
# A host that reboots is recognised at once: old connections are reset.
. tests/vm/lib.sh

lab --timeout 400 -- 'serve
	wait_file "$OUT/connected"
	lab-reboot ". tests/vm/lib.sh; : >\"\$OUT/back\"; serve; sleep 20"' '
	start=0
	broken silent.peer_forgets ": >\"$OUT/connected\"; wait_file \"$OUT/back\" 200; start=\$SECONDS"
	((SECONDS - start < 60)) || fail "the reset took $((SECONDS - start)) s"
	mark
	cases bulk.sizes
	over_rdma 100000'
