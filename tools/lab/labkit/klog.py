# SPDX-License-Identifier: MIT
"""What in a kernel's log fails a run."""

import re

COMPLAINT = re.compile("|".join([
    r"\bBUG\b", r"\bWARNING\b", r"\bKASAN\b", r"\bKCSAN\b", r"\bUBSAN\b",
    r"\bOops\b", r"general protection", r"Kernel panic", r"nable to handle",
    r"lockdep", r"possible .*locking", r"inconsistent lock state",
    r"suspicious RCU usage", r"blocked for more than", r"soft lockup",
    r"hard LOCKUP", r"rcu.*(stall|starved)", r"list_(add|del) corruption",
    r"scheduling while atomic", r"sleeping function called", r"refcount_t:",
    r"kmemleak:.*suspected", r"unreferenced object",
    r"unregister_netdevice: waiting for",
]))
START = "lab: log checked from here"
MAX_SHOWN = 60
TRACE_LINES = 25


def complaints(text):
    """The lines of a kernel log that fail a run, each with the lines after
    it, because a complaint is followed by its trace."""
    _, mark, checked = text.partition(START)
    lines = (checked if mark else text).splitlines()
    shown, until = [], -1
    for at, line in enumerate(lines):
        if COMPLAINT.search(line):
            until = at + TRACE_LINES
        if at <= until:
            shown.append(line)
        if "end trace" in line:
            until = at
    return shown[:MAX_SHOWN]
