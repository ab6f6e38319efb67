#!/bin/bash
# SPDX-License-Identifier: MIT
# krcore clients reach plain TCP listeners.
. tests/vm/lib.sh

lab --timeout 1500 -- 'serve' 'mark
	cases --bytes 1000000 --server-proto tcp
	over_tcp_only'
