# SPDX-License-Identifier: MIT
"""The samples of the profile plugin, by function."""

import bisect
import collections

from .common import say

SHOWN = 45


def _symbols(path):
    """Sorted (addresses, names) of a host's /proc/kallsyms."""
    found = []
    for line in path.read_text().splitlines():
        address, kind, name, *module = line.split()
        if kind in "tTwW":
            found.append((int(address, 16), " ".join([name, *module])))
    found.sort()
    return [address for address, _ in found], [name for _, name in found]


def report(out, host):
    """Print the hottest functions of a host and keep all in profile-*.txt."""
    samples, symbols = out / f"samples-{host}.txt", out / f"kallsyms-{host}"
    if not samples.exists() or not symbols.exists():
        return
    addresses, names = _symbols(symbols)
    counts, calls, instructions = (collections.Counter() for _ in range(3))
    for line in samples.read_text().splitlines():
        address, count, runs, executed = line.split()
        at = bisect.bisect(addresses, int(address, 16)) - 1
        name = names[at] if at >= 0 else "(programs)"
        counts[name] += int(count)
        instructions[name] += int(executed)
        if at >= 0 and addresses[at] == int(address, 16):
            calls[name] += int(runs)
    total = sum(counts.values())
    lines = [f"{100 * count / total:6.2f} %  {calls[name]:9}  "
             f"{instructions[name]:11}  {name}"
             for name, count in counts.most_common()]
    path = out / f"profile-{host}.txt"
    path.write_text("\n".join(lines) + "\n")
    say(f"{host}: share, calls, instructions and name of functions; {total} samples of 0.5 ms; all of them in {path}")
    for line in lines[:SHOWN]:
        print(f"{host}: {line}")
