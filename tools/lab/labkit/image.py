# SPDX-License-Identifier: MIT
"""What a host boots: Debian's kernel, unpacked from its package, and an
initramfs that mounts this machine's root.  Both are cached in build/lab."""

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from .common import BUILD, GUEST, LAB, LabError, say

# Loaded before the root is there, or too slow to load from it; whatever a
# kernel has built in is skipped.
BOOT_MODULES = ["virtio_pci", "virtio_console", "virtio_net",
                "9p", "9pnet_virtio", "overlay"]
RDMA_MODULES = ["crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"]
UNPACKED = "unpacked.elf"


class Kernel:
    """An unpacked kernel: DIR/boot/vmlinuz-VERSION (or DIR/vmlinuz) and
    DIR/lib/modules/VERSION."""

    def __init__(self, directory):
        self.dir = Path(directory).resolve()
        images = sorted(self.dir.glob("boot/vmlinuz-*"))
        images += [p for p in (self.dir / "vmlinuz", self.dir / "bzImage")
                   if p.exists()]
        trees = sorted(self.dir.glob("lib/modules/*"))
        if not images or not trees:
            raise LabError(f"{self.dir}: no boot/vmlinuz-* and lib/modules/* "
                           "in it: unpack or install a kernel there")
        fast = self.dir / "boot" / UNPACKED
        self.image = fast if fast.exists() else images[0]
        self.version = trees[0].name


@contextmanager
def _cache_lock():
    LAB.mkdir(parents=True, exist_ok=True)
    with open(LAB / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def module_info(module, field):
    """One field of a .ko file, as modinfo prints it."""
    done = subprocess.run(["modinfo", "-F", field, module],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip()


def wanted_version(module=None):
    """The kernel version that krcore.ko is, or would be, built for."""
    module = module or BUILD / "kmod" / "krcore.ko"
    if Path(module).exists():
        magic = module_info(module, "vermagic")
        if magic:
            return magic.split()[0]
    headers = [p.parent.name for p in Path("/lib/modules").glob("*/build")]
    if not headers:
        raise LabError("no kernel headers: apt-get install "
                       "linux-headers-amd64")
    return max(headers, key=lambda v: [int(n) for n in re.findall(r"\d+", v)])


def _download(version, into):
    command = ["apt-get", "-q", "download"]
    if os.geteuid() == 0:
        command[1:1] = ["-o", "APT::Sandbox::User=root"]
    said = ""
    for name in (f"linux-image-{version}", f"linux-image-{version}-unsigned"):
        done = subprocess.run(command + [name], cwd=into, text=True,
                              capture_output=True, check=False)
        packages = list(Path(into).glob("*.deb"))
        if packages:
            return packages[0]
        said = done.stderr.strip() or said
    raise LabError(f"cannot download the kernel package "
                   f"linux-image-{version}: {said}\n"
                   "lab: try apt-get update; if the version is gone from the "
                   "archive, apt-get install linux-headers-amd64, remove the "
                   "old headers, and make again")


def _unpack_image(directory, version):
    """Leave the ELF kernel beside the compressed one, where its boot entry
    for hypervisors is there: an emulated processor takes 5 s to unpack it."""
    config = (directory / "boot" / f"config-{version}").read_text()
    image = (directory / "boot" / f"vmlinuz-{version}").read_bytes()
    for at in [m.start() for m in re.finditer(rb"\xfd7zXZ\0", image)]:
        if "CONFIG_PVH=y" not in config:
            return
        try:
            elf = lzma.LZMADecompressor().decompress(image[at:])
        except lzma.LZMAError:
            continue
        if elf.startswith(b"\x7fELF"):
            (directory / "boot" / UNPACKED).write_bytes(elf)
            return


def kernel(version):
    """The unpacked kernel of that version, downloaded the first time."""
    directory = LAB / "kernel" / version
    with _cache_lock():
        if not (directory / "complete").exists():
            say(f"downloading Debian's kernel {version} for the hosts (once)")
            shutil.rmtree(directory, ignore_errors=True)
            directory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=directory.parent) as tmp:
                package = _download(version, tmp)
                say("unpacking it, a minute or so")
                subprocess.run(["dpkg-deb", "-x", package, directory],
                               check=True)
            subprocess.run(["depmod", "-b", directory, version], check=True)
            _unpack_image(directory, version)
            (directory / "complete").touch()
    return Kernel(directory)


def _module_files(krn):
    """The .ko files that the initramfs needs, in the order of loading."""
    files = []
    for name in BOOT_MODULES + RDMA_MODULES:
        done = subprocess.run(["modprobe", "-d", krn.dir, "-S", krn.version,
                               "--show-depends", name], text=True,
                              capture_output=True, check=False)
        for line in done.stdout.splitlines():
            verb, _, path = line.strip().partition(" ")
            if verb == "insmod" and path not in files:
                files.append(path)
    return [Path(f) for f in files]


def _cpio_entry(out, name, mode, body=b""):
    head = "070701" + "".join(f"{n:08x}" for n in (
        0, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name) + 1, 0))
    out.write(head.encode() + name.encode() + b"\0")
    out.write(b"\0" * (-(len(head) + len(name) + 1) % 4))
    out.write(body + b"\0" * (-len(body) % 4))


def _pack(path, files, modules):
    """Write the archive uncompressed: QEMU loads it faster than an emulated
    processor can unpack it."""
    with open(path, "wb") as out:
        for name in ("bin", "modules"):
            _cpio_entry(out, name, 0o040755)
        for name, (source, mode) in files.items():
            _cpio_entry(out, name, 0o100000 | mode, source.read_bytes())
        for source in modules:
            _cpio_entry(out, f"modules/{source.name}", 0o100644,
                        source.read_bytes())
        order = "".join(f"{source.name}\n" for source in modules)
        _cpio_entry(out, "modules/order", 0o100644, order.encode())
        _cpio_entry(out, "TRAILER!!!", 0)


def _static_busybox():
    busybox = shutil.which("busybox")
    if busybox:
        done = subprocess.run(["ldd", busybox], capture_output=True,
                              check=False)
        if done.returncode != 0:
            return Path(busybox)
    raise LabError("no static busybox: apt-get install busybox-static")


def initramfs(krn):
    """The initramfs for a kernel; its name carries a hash of its inputs."""
    files = {"init": (GUEST / "init", 0o755),
             "bin/busybox": (_static_busybox(), 0o755)}
    modules = _module_files(krn)
    digest = hashlib.sha256()
    for source in [Path(__file__)] + [f for f, _ in files.values()] + modules:
        stat = source.stat()
        digest.update(f"{source} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    path = LAB / f"initramfs-{krn.version}-{digest.hexdigest()[:12]}"
    with _cache_lock():
        if not path.exists():
            for old in LAB.glob(f"initramfs-{krn.version}-*"):
                old.unlink()
            _pack(path.with_suffix(".tmp"), files, modules)
            path.with_suffix(".tmp").rename(path)
    return path


def _compiled(name, *flags):
    """A helper program of the lab, built when it is not or is old."""
    source = GUEST.parent / f"{Path(name).stem}.c"
    program = LAB / name
    with _cache_lock():
        if (not program.exists()
                or program.stat().st_mtime < source.stat().st_mtime):
            done = subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-Wall",
                                   "-Wextra", *flags, "-o", program, source],
                                  check=False)
            if done.returncode != 0:
                raise LabError(f"cannot build {name}: apt-get install gcc "
                               "libc6-dev")
    return program


def hub():
    """The program that joins more than two hosts."""
    return _compiled("hub")


def profiler():
    """The QEMU plugin that samples where a guest's processors are."""
    return _compiled("profile.so", "-shared", "-fPIC", "-pthread",
                     "-fvisibility=hidden")
