# SPDX-License-Identifier: MIT
"""lab shell: one tmux pane for each host."""

import os
import shutil
import subprocess
import sys

from .common import LabError, say
from .session import Session

HINT = ("h1: krcore-run iperf3 -s   h2: krcore-run iperf3 -c h1; krcorectl show"
        "   C-b arrow: other host   C-b d: end")


def _pane(name):
    return f"exec socat -,raw,echo=0 UNIX-CONNECT:{name}.tty"


def _check():
    for program in ("tmux", "socat"):
        if not shutil.which(program):
            raise LabError(f"no {program}: apt-get install {program}")
    if not sys.stdin.isatty():
        raise LabError("lab shell wants a terminal; use lab run in scripts")


def _tmux(session, size):
    """A tmux server of our own, with one pane for each host."""
    server = ["tmux", "-L", f"krcore-lab-{os.getpid()}", "-f", "/dev/null"]
    names = [m.name for m in session.machines]
    command = [*server, "new-session", "-x", str(size.columns),
               "-y", str(size.lines), _pane(names[0])]
    for name in names[1:]:
        command += [";", "split-window", _pane(name)]
    command += [";", "select-layout", "even-vertical",
                ";", "set", "status-left", "", ";", "set", "status-right", "",
                ";", "set", "window-status-current-format", HINT,
                ";", "set", "mouse", "on", ";", "select-pane", "-t", "0",
                # -E: tmux would say "detached", as if the hosts went on.
                ";", "bind-key", "d", "detach-client", "-E", "true"]
    env = {k: v for k, v in os.environ.items() if k != "TMUX"}
    try:
        subprocess.run(command, cwd=session.dir, env=env, check=False)
    finally:
        subprocess.run([*server, "kill-server"], env=env, check=False,
                       stderr=subprocess.DEVNULL)


def run(opts):
    """Boot the hosts and hand them to the person."""
    _check()
    opts.out, opts.term, opts.timeout = None, "screen", 0
    size = shutil.get_terminal_size()
    with Session(opts) as session:
        say(f"booting {opts.hosts} hosts ...")
        session.boot()
        rows = max(2, (size.lines - 1) // opts.hosts - 1)
        for machine in session.machines:
            machine.send(f"shell rows {rows} cols {size.columns}")
        _tmux(session, size)
    say("the hosts are switched off")
    return 0
