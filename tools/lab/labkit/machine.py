# SPDX-License-Identifier: MIT
"""One host: its QEMU process, its control and output channels.

Every connection of a QEMU is a socketpair made here and passed on, so there
are no paths to clash and nothing to wait for."""

import re
import shutil
import socket
import subprocess
import sys

from .common import LabError, kvm_usable

END = re.compile(rb"\x01end (\d+)\n")


def find_qemu():
    """The emulator, or what to install."""
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        raise LabError("no qemu: apt-get install qemu-system-x86")
    return qemu


# For a kernel of someone's own: one with lockdep and the like never comes up
# on the AMD processor that "max" is, takes minutes over the ACPI tables of PCI,
# its addresses should be those of its vmlinux, and KASAN must not fall silent
# after something that it saw at boot.
OTHER_CPU = ",vendor=GenuineIntel,family=6,model=85"
OTHER_APPEND = "pci=noacpi nokaslr kasan_multi_shot"


def processor(other_kernel):
    """-accel and -cpu.  Soft-RoCE's checksum is slower with an emulated
    carry-less multiply than without, and "rep movsb" is emulated a byte at a
    time, "rep movsq" eight: erms and fsrm would have kernels use the first."""
    if kvm_usable():
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max,-pclmulqdq,-erms,-fsrm"
            + (OTHER_CPU if other_kernel else "")]


class Machine:
    """A host.  Its state: booting, ready, running, ended, gone."""

    def __init__(self, number, run_dir, out_dir):
        self.number = number
        self.name = f"h{number}"
        self.run_dir = run_dir
        self.out_dir = out_dir
        self.console = out_dir / f"console-{self.name}.txt"
        self.state = "booting"
        self.status = None
        self.failure = None
        self.finished = False
        self.crashed = False
        self.started_at = None
        self.process = None
        self._line = b""
        self._control_line = b""
        self._console_at = 0
        self.control, self._control_far = socket.socketpair()
        self.output, self._output_far = socket.socketpair()

    def _share(self, tag, path, *options):
        spec = ",".join([f"local,id={tag}", f"path={path}",
                         "security_model=none", *options])
        return ["-fsdev", spec,
                "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]

    def _channel(self, number, name, far):
        return ["-chardev", f"socket,id={name},fd={far.fileno()}",
                "-device", f"virtserialport,chardev={name},nr={number},"
                f"name=lab.{name}"]

    def _command(self, boot, link):
        append = (f"console=ttyS0 panic=-1 mitigations=off init_on_alloc=0 "
                  f"audit=0 apparmor=0 cryptomgr.notests "
                  f"log_buf_len=4M lab.host={self.number} "
                  + ("loglevel=7" if boot["verbose"] else "quiet")
                  + (f" {OTHER_APPEND}" if boot["other_kernel"] else ""))
        mac = f"52:54:00:4d:00:{self.number:02x}"
        return ([find_qemu(), "-name", f"krcore-lab-{self.name}",
                 "-nodefaults", "-no-user-config", "-display", "none",
                 *processor(boot["other_kernel"]),
                 "-m", boot["memory"], "-smp", str(boot["smp"]),
                 "-kernel", str(boot["kernel"].image),
                 "-initrd", str(boot["initramfs"]),
                 "-append", f"{append} {boot['append']}",
                 *(self._profiler(boot["profiler"]) if boot["profiler"] else []),
                 "-serial", f"file:{self.console}",
                 *(["-serial", f"unix:{self.name}.tty,server=on,wait=off"]
                   if boot["shell"] else [])]
                + self._share("root", "/", "readonly=on", "multidevs=remap")
                + self._share("lab", self.run_dir)
                + self._share("out", self.out_dir)
                + ["-device", "virtio-serial-pci"]
                + self._channel(1, "control", self._control_far)
                + self._channel(2, "output", self._output_far)
                + ["-netdev", "stream,id=net,server=off,addr.type=fd,"
                   f"addr.str={link.fileno()}",
                   "-device", f"virtio-net-pci,netdev=net,mac={mac},"
                   "host_mtu=9000,rx_queue_size=1024,romfile="])

    def _profiler(self, plugin):
        return ["-plugin", f"{plugin},"
                f"out={self.out_dir}/samples-{self.name}.txt,"
                f"switch={self.out_dir}/profiling-{self.name}"]

    def start(self, boot, link):
        """Switch the host on.  setpriv has the kernel end QEMU should the
        lab itself be killed."""
        fars = (self._control_far, self._output_far, link)
        self.console.write_bytes(b"")
        log = open(self.run_dir / f"qemu-{self.name}.txt", "wb")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--",
             *self._command(boot, link)],
            cwd=self.run_dir, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True,
            pass_fds=[far.fileno() for far in fars])
        log.close()
        for far in fars:
            far.close()

    def send(self, verb):
        """One verb to the guest's init."""
        try:
            self.control.sendall(verb.encode() + b"\n")
        except OSError:
            pass

    def on_control(self):
        """Answers from the guest.  Returns False at the end of the line."""
        data = self._receive(self.control)
        self._control_line += data
        *lines, self._control_line = self._control_line.split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "ready":
                self._on_ready()
            elif word == "fail":
                self.failure = rest
            elif word == "finished":
                self.finished = True
        return bool(data)

    def _on_ready(self):
        """Up for the first time, or again: after lab-reboot to go on with
        its commands, else because it crashed."""
        asked = self.run_dir / "reboot" / self.name
        if self.state == "booting":
            self.state = "ready"
        elif asked.exists():
            asked.unlink()
            self.send("run")
        else:
            self.crashed = True

    def on_output(self):
        """Output of the host's commands, and the mark of their end."""
        data = self._receive(self.output)
        self._line += data
        mark = END.search(self._line)
        if mark:
            self.state, self.status = "ended", int(mark.group(1))
            before, after = self._line[:mark.start()], self._line[mark.end():]
            if before and not before.endswith(b"\n"):
                before += b"\n"
            self._line = before + after
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            self._print(line)
        return bool(data)

    @staticmethod
    def _receive(sock):
        try:
            return sock.recv(1 << 16)
        except OSError:
            return b""

    def _print(self, line):
        sys.stdout.buffer.write(f"{self.name}: ".encode() + line + b"\n")
        sys.stdout.buffer.flush()

    def flush(self):
        """Print a last line that has no end."""
        if self._line:
            self._print(self._line)
            self._line = b""

    def follow_console(self):
        """Print what the console said since the last time."""
        with open(self.console, "rb") as console:
            console.seek(self._console_at)
            data = console.read()
        end = data.rfind(b"\n") + 1
        self._console_at += end
        for line in data[:end].splitlines():
            self._print(b"| " + line)

    def last_words(self, count=15):
        """The end of the console and of QEMU's own messages."""
        lines = []
        for path in (self.console, self.run_dir / f"qemu-{self.name}.txt"):
            if path.exists():
                text = path.read_text(errors="replace")
                lines += text.splitlines()[-count:]
        return "\n".join(f"    {self.name}| {line}" for line in lines)

    def alive(self):
        """Is the machine still in its first life, or one asked for?"""
        return not self.crashed and self.process is not None and self.process.poll() is None

    def kill(self):
        """Switch the host off, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        for sock in (self.control, self.output):
            sock.close()
