# SPDX-License-Identifier: MIT
"""A lab from switching on to verdict: boots the hosts, runs their commands
in order, collects the kernel logs and says how it went."""

import os
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import image, klog, profile
from .common import (BUILD, EXIT_KERNEL_LOG, EXIT_LAB, EXIT_TIMEOUT, LAB,
                     REPO, LabError, mem_available, say, write_config)
from .machine import Machine

TICK_S = 0.03
BOOT_TIMEOUT_S = 180
FINISH_TIMEOUT_S = 20
LEAKS_TIMEOUT_S = 900
AFTER_FAILURE_S = 15


def _sweep():
    """Remove what labs left behind that were killed."""
    for directory in LAB.glob("run.*"):
        try:
            owner = int((directory / "pid").read_text())
            os.kill(owner, 0)
        except (ProcessLookupError, NotADirectoryError):
            shutil.rmtree(directory, ignore_errors=True)
        except (OSError, ValueError):
            pass


# The first packets of an emulated host take a while: patience for the hello.
GRACE_MS = 500


class Session:
    """opts is what cli.py parsed; see there for the meaning of each."""

    def __init__(self, opts):
        self.opts = opts
        self.machines = []
        self.hub = None
        self.selector = selectors.DefaultSelector()
        self.problems = []
        self.exit = 0
        LAB.mkdir(parents=True, exist_ok=True)
        _sweep()
        self.dir = Path(tempfile.mkdtemp(prefix="run.", dir=LAB))
        (self.dir / "pid").write_text(str(os.getpid()))
        self.out = Path(opts.out).resolve() if opts.out else self.dir / "out"
        self.out.mkdir(parents=True, exist_ok=True)

    # Switching on and off

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        return self

    @staticmethod
    def _on_signal(number, _frame):
        raise SystemExit(128 + number)

    def __exit__(self, kind, _value, _trace):
        for machine in self.machines:
            machine.kill()
        if self.hub:
            self.hub.kill()
            self.hub.wait()
        if self.exit and not kind and not self.opts.out:
            kept = LAB / "failed"
            shutil.rmtree(kept, ignore_errors=True)
            self.dir.rename(kept)
            say(f"logs are in {kept}/out")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def _check_machine(self):
        memory = self.opts.memory.upper()
        scale = {"M": 1, "G": 1024}.get(memory[-1])
        if scale is None or not memory[:-1].isdigit():
            raise LabError("-m wants a size such as 512M or 2G")
        wanted = int(memory[:-1]) * scale * self.opts.hosts
        if wanted > mem_available():
            raise LabError(f"{self.opts.hosts} hosts want {wanted} MiB, this "
                           f"machine has {mem_available()} MiB free: use "
                           "fewer hosts or a smaller -m")

    def _kernel(self):
        if self.opts.kernel:
            return image.Kernel(self.opts.kernel)
        return image.kernel(image.wanted_version(self.opts.kmod))

    def _module(self, krn):
        """krcore.ko and what it needs, when any host is to load it."""
        if "all" in self.opts.no_krcore.split():
            return "", ""
        module = Path(self.opts.kmod or BUILD / "kmod" / "krcore.ko")
        if self.opts.kernel and not self.opts.kmod:
            own = krn.dir / "krcore.ko"
            module = own if own.exists() else module
        if not module.exists():
            raise LabError(f"no {module}: run make first "
                           "(or use --no-krcore)")
        needs = image.module_info(module, "depends").replace(",", " ")
        return str(module.resolve()), needs

    def _configure(self, krn):
        opts = self.opts
        module, needs = self._module(krn)
        for name in ("barrier", "ended", "want", "port", "reboot"):
            (self.dir / name).mkdir()
        for number, commands in enumerate(opts.commands, 1):
            path = self.dir / f"h{number}.commands"
            path.write_text(commands + "\n")
        write_config(self.dir / "config", {
            "REPO": REPO, "CWD": Path.cwd(), "KERNEL": krn.dir,
            "HOSTS": opts.hosts, "WITH_COMMANDS": len(opts.commands),
            "NO_RDMA": opts.no_rdma, "NO_KRCORE": opts.no_krcore,
            "NETEM": opts.netem, "KMOD": module, "KMOD_NEEDS": needs,
            "KMOD_ARGS": f"grace_ms={GRACE_MS * opts.slow} "
                         f"{opts.module_args}".strip(), "SLOW": opts.slow,
            "TERM_TYPE": opts.term})

    def _links(self):
        """One end of the wire for each host."""
        if self.opts.hosts == 2:
            return socket.socketpair()
        pairs = [socket.socketpair() for _ in range(self.opts.hosts)]
        fars = [far.fileno() for _, far in pairs]
        self.hub = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", image.hub(),
             *map(str, fars)], pass_fds=fars, start_new_session=True)
        for _, far in pairs:
            far.close()
        return [near for near, _ in pairs]

    def boot(self):
        """Switch all hosts on and wait until they are of use."""
        self._check_machine()
        krn = self._kernel()
        self._configure(krn)
        boot = {"kernel": krn, "initramfs": image.initramfs(krn),
                "memory": self.opts.memory, "smp": self.opts.smp,
                "append": self.opts.append, "verbose": self.opts.verbose,
                "shell": self.opts.shell,
                "other_kernel": bool(self.opts.kernel),
                "profiler": image.profiler() if self.opts.profile else None}
        began = time.monotonic()
        for number, link in enumerate(self._links(), 1):
            machine = Machine(number, self.dir, self.out)
            self.machines.append(machine)
            machine.start(boot, link)
            self.selector.register(machine.control, selectors.EVENT_READ,
                                   machine.on_control)
            self.selector.register(machine.output, selectors.EVENT_READ,
                                   machine.on_output)
        patience = BOOT_TIMEOUT_S * self.opts.slow
        deadline = began + patience
        while any(m.state == "booting" for m in self.machines):
            self._turn()
            for m in self.machines:
                if m.failure or not m.alive() or time.monotonic() > deadline:
                    why = m.failure or (
                        "switched itself off" if not m.alive()
                        else f"not up after {patience} s")
                    if m.state == "booting":
                        raise LabError(f"{m.name} did not boot: {why}\n"
                                       + m.last_words())
        if self.opts.verbose:
            say(f"{self.opts.hosts} hosts up after "
                f"{time.monotonic() - began:.1f} s")

    # Running

    def _turn(self):
        """One round of the loop: channels, consoles, requests."""
        for key, _ in self.selector.select(TICK_S):
            if not key.data():
                self.selector.unregister(key.fileobj)
        if self.opts.verbose:
            for machine in self.machines:
                machine.follow_console()
        for request in (self.dir / "want").iterdir():
            request.unlink()
            name, _, port = request.name.rpartition(".")
            for machine in self.machines:
                if machine.name == name:
                    machine.send(f"wait-port {port}")

    def _start_next(self, active):
        """Start the next host's commands once those before are under way."""
        now = time.monotonic()
        for before, machine in zip([None] + active, active):
            if machine.state != "ready":
                continue
            if before is None or before.state == "ended" or (
                    before.state == "running"
                    and now - before.started_at >= self.opts.settle):
                machine.state, machine.started_at = "running", now
                machine.send("run")
            return

    def _lost(self):
        """Machines that went off or crashed while they should be up."""
        for m in self.machines:
            if not m.alive() and m.state != "gone":
                m.state = "gone"
                self._problem(EXIT_KERNEL_LOG, f"{m.name} went down\n"
                              + m.last_words(40))

    def _problem(self, status, text):
        self.problems.append(text)
        self.exit = self.exit or status
        say(text)

    def run(self):
        """Run the commands of all hosts; leaves problems and exit set."""
        active = self.machines[:len(self.opts.commands)]
        timeout = self.opts.timeout * self.opts.slow
        deadline = time.monotonic() + timeout
        reported = set()
        while not all(m.state == "ended" for m in active):
            if not self.problems:
                self._start_next(active)
            self._turn()
            self._lost()
            for m in active:
                if m.status and m.name not in reported:
                    reported.add(m.name)
                    self._problem(m.status, f"{m.name}: commands failed with "
                                  f"status {m.status}")
                    deadline = min(deadline,
                                   time.monotonic()
                                   + AFTER_FAILURE_S * self.opts.slow)
            if any(m.state == "gone" for m in active):
                break
            if time.monotonic() > deadline:
                self._out_of_time(active, timeout)
                break

    def _out_of_time(self, active, timeout):
        running = [m for m in active if m.state == "running"]
        names = ", ".join(m.name for m in running)
        if self.problems:
            say(f"{names}: commands ended because of the failure above")
            return
        self._problem(EXIT_TIMEOUT, f"{names}: commands still running after "
                      f"{timeout:g} s (a server that stays belongs "
                      "in the background)")
        for m in running:
            m.send("stuck")

    # Verdict

    def finish(self):
        """Collect and judge the kernel logs."""
        for m in self.machines:
            if m.alive():
                m.send("finish")
        patience = FINISH_TIMEOUT_S * self.opts.slow
        if "kmemleak=on" in self.opts.append:
            patience += LEAKS_TIMEOUT_S
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and any(
                m.alive() and not m.finished for m in self.machines):
            self._turn()
        for m in self.machines:
            m.flush()
            if m.alive() and not m.finished:
                self._problem(EXIT_LAB, f"{m.name} does not answer any more\n"
                              + m.last_words())
            self._judge(m)
            profile.report(self.out, m.name)

    def _judge(self, machine):
        log = self.out / f"dmesg-{machine.name}.txt"
        paths = sorted(self.out.glob(f"dmesg-{machine.name}.life*.txt"))
        paths.append(log if machine.finished else machine.console)
        found = []
        for path in paths:
            found += klog.complaints(path.read_text(errors="replace"))
        if found:
            self._problem(EXIT_KERNEL_LOG, f"{machine.name}: the kernel "
                          "complained:\n" + "\n".join(
                              f"    {machine.name}| {line}"
                              for line in found))
            self.exit = EXIT_KERNEL_LOG
