# SPDX-License-Identifier: MIT
"""The lab: krcore on two or more QEMU hosts.  See docs/HACKING.md."""
