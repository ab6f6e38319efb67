#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim and krcore-run on a host with the module.
. tests/vm/lib.sh

[[ $KR_PROTO == tcp ]] && skip 'needs the module'
need python3
lab -- 'tests/preload/guest_test.sh'
