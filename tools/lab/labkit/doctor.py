# SPDX-License-Identifier: MIT
"""lab doctor: what the lab wants, what is there, what to install."""

import shutil

from . import image
from .common import EXIT_LAB, LabError, kvm_usable, mem_available

PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static",
    "modprobe": "kmod", "dpkg-deb": "dpkg", "setpriv": "util-linux",
    "ip": "iproute2", "rdma": "iproute2", "tc": "iproute2",
    "gcc": "gcc", "tmux": "tmux", "socat": "socat",
}


def check():
    """Prints one line for each thing; returns the exit status."""
    missing = sorted({package for program, package in PROGRAMS.items()
                      if not shutil.which(program, path="/usr/local/sbin:"
                                          "/usr/local/bin:/usr/sbin:/usr/bin:"
                                          "/sbin:/bin")})
    print("programs: " + (f"apt-get install {' '.join(missing)}"
                          if missing else "all there"))
    try:
        print(f"kernel: {image.wanted_version()}")
    except LabError as error:
        missing.append("kernel")
        print(f"kernel: {error}")
    print("processor: " + ("KVM" if kvm_usable() else "emulated (no KVM)"))
    print(f"memory: {mem_available()} MiB free, two hosts want 2048")
    return EXIT_LAB if missing else 0
