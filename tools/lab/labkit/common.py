# SPDX-License-Identifier: MIT
"""Where things are, and how the lab speaks to the person who runs it."""

import os
import shlex
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
BUILD = REPO / "build"
LAB = BUILD / "lab"
GUEST = REPO / "tools" / "lab" / "guest"

# Exit statuses of `lab run`; any other value is a failed command's own.
EXIT_TIMEOUT = 124
EXIT_LAB = 125
EXIT_KERNEL_LOG = 99


class LabError(Exception):
    """The lab cannot do what was asked; the text says what to do about it."""


def say(text):
    """One line from the lab itself, beside the output of the hosts."""
    sys.stdout.flush()
    print(f"lab: {text}", file=sys.stderr, flush=True)


def write_config(path, values):
    """A file of NAME='VALUE' lines that the guest's shells source."""
    lines = [f"{name}={shlex.quote(str(value))}\n"
             for name, value in values.items()]
    path.write_text("".join(lines))


def mem_available():
    """Free memory of this machine in MiB."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    return 1 << 30


def kvm_usable():
    """KVM counts only where the processor says so, too: some virtual
    machines show a /dev/kvm on which no guest ever gets anywhere."""
    if os.environ.get("LAB_ACCEL"):
        return os.environ["LAB_ACCEL"] == "kvm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii").split()
    return "vmx" in flags or "svm" in flags
