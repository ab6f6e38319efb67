# SPDX-License-Identifier: MIT
"""The command line: lab run, lab shell, lab prepare, lab doctor."""

import argparse
import os
import shlex
import sys

from . import doctor, image, shell
from .common import EXIT_LAB, LabError, say
from .session import Session


def _positive(text):
    number = int(text)
    if not 1 <= number <= 64:
        raise argparse.ArgumentTypeError("a number from 1 to 64")
    return number


def _host(text):
    number = text.removeprefix("h")
    if number != "all" and not number.isdigit():
        raise argparse.ArgumentTypeError("a host: 2 or h2")
    return number


def _boot_options():
    parser = argparse.ArgumentParser(add_help=False)
    add = parser.add_argument
    add("-n", dest="hosts", type=_positive, metavar="HOSTS",
        help="number of hosts (default: one for each COMMANDS, at least 2)")
    add("--no-krcore", nargs="?", const="all", action="append", default=[],
        type=_host, metavar="HOST",
        help="do not load krcore, on that host or on any")
    add("--no-rdma", action="append", default=[], type=_host, metavar="HOST",
        help="no RDMA device on that host")
    add("--netem", default="", metavar="ARGS",
        help="faults on every link, as tc-netem(8) takes them: 'loss 1%%'")
    add("--smp", type=_positive, default=1, metavar="N",
        help="processors of each host (default 1)")
    add("-m", dest="memory", default="1G", metavar="SIZE",
        help="memory of each host (default 1G)")
    add("--module-args", default="", metavar="ARGS",
        help="module parameters for krcore: 'x=y'")
    add("--kmod", metavar="FILE", help="another krcore.ko")
    add("--kernel", metavar="DIR",
        help="another unpacked kernel: DIR/boot/vmlinuz-*, DIR/lib/modules/*")
    add("--slow", type=_positive, default=1, metavar="N",
        help="allow N times the time for everything, as a kernel full of "
        "checks needs it")
    add("--append", default="", metavar="ARGS",
        help="more of a kernel command line")
    add("--profile", action="store_true",
        help="sample where the processors are between 'lab-profile start' "
        "and 'lab-profile stop' on a host (needs QEMU's emulation)")
    add("-v", dest="verbose", action="store_true",
        help="show the consoles, too")
    return parser


def _parser():
    parser = argparse.ArgumentParser(
        prog="lab", description="krcore on QEMU hosts h1, h2, ... with "
        "10.77.0.N, fd77::N and Soft-RoCE")
    verbs = parser.add_subparsers(dest="verb", metavar="command",
                                  required=True)
    boot = _boot_options()
    run = verbs.add_parser(
        "run", parents=[boot], help="run commands on hosts",
        usage="lab run [OPTIONS] -- 'COMMANDS ON HOST 1' "
        "['COMMANDS ON HOST 2' ...]",
        epilog="Exit status: 0; the first failed command's own; 99 if a "
        "kernel complained, 124 on time-out, 125 if the lab did not work.")
    run.add_argument("--timeout", type=float, default=300, metavar="S",
                     help="for the commands of all hosts (default 300)")
    run.add_argument("--settle", type=float, default=1, metavar="S",
                     help="start the next host's commands that long after "
                     "the last's, if those have not ended before (default 1)")
    run.add_argument("-o", dest="out", metavar="DIR",
                     help="where $OUT of the guests and the logs go")
    verbs.add_parser("shell", parents=[boot], help="a lab for people")
    verbs.add_parser("prepare", help="fetch and build what hosts boot from")
    verbs.add_parser("doctor", help="is everything there that the lab wants?")
    return parser


def _fill(opts, commands):
    opts.commands = commands
    opts.hosts = opts.hosts or max(2, len(commands))
    if opts.hosts < len(commands):
        raise LabError(f"{len(commands)} COMMANDS for {opts.hosts} hosts")
    opts.no_krcore = " ".join(opts.no_krcore)
    opts.no_rdma = " ".join(opts.no_rdma)
    opts.shell = opts.verb == "shell"
    opts.term = os.environ.get("TERM", "linux")


def _run(opts):
    with Session(opts) as session:
        session.boot()
        session.run()
        session.finish()
        return session.exit


def _prepare():
    image.initramfs(image.kernel(image.wanted_version()))
    image.hub()
    return 0


def _obey(opts, commands):
    if opts.verb == "prepare":
        return _prepare()
    if opts.verb == "doctor":
        return doctor.check()
    _fill(opts, commands)
    if opts.verb == "shell":
        return shell.run(opts)
    if not commands:
        raise LabError("no commands: lab run [OPTIONS] -- 'COMMANDS' ...")
    return _run(opts)


def main(argv):
    """Returns the exit status."""
    commands = []
    if "--" in argv:
        at = argv.index("--")
        argv, commands = argv[:at], argv[at + 1:]
    if argv and argv[0] in ("run", "shell"):
        argv = argv + shlex.split(os.environ.get("LAB_ARGS", ""))
    opts = _parser().parse_args(argv)
    # A user's PATH has no modprobe and depmod.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    try:
        return _obey(opts, commands)
    except LabError as error:
        say(str(error))
        return EXIT_LAB
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_LAB
    except KeyboardInterrupt:
        say("interrupted")
        return 130
