#!/bin/bash
# SPDX-License-Identifier: MIT
# A silent host ends connections as TCP would.
. tests/vm/lib.sh

lab --timeout 600 -- 'serve' 'for name in silent.user_timeout silent.keepalive; do
		start=0
		broken $name "silence; start=\$SECONDS"
		((SECONDS - start < 60)) || fail "$name took $((SECONDS - start)) s"
		sound
		sleep 5
	done
	cases silent.living_host bulk.sizes'
