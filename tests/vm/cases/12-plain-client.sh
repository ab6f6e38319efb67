#!/bin/bash
# SPDX-License-Identifier: MIT
# Plain TCP clients reach krcore listeners, and the other way round for accept.
. tests/vm/lib.sh

lab --timeout 1500 -- 'serve' 'mark
	cases --bytes 1000000 --client-proto tcp
	over_tcp_only'
