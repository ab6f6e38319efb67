#!/bin/bash
# SPDX-License-Identifier: MIT
# A server host without the module: plain TCP from the first byte.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
lab --no-krcore 1 --timeout 1500 -- 'serve' 'mark
	cases --bytes 1000000 --server-proto tcp
	over_tcp_only
	(($(counter rx_bytes_tcp) > 1000000)) || fail "nothing was counted as TCP"'
