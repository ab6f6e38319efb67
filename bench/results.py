# SPDX-License-Identifier: MIT
"""What the raw files of a run say: numbers for each question and carrier,
and whether krcore's bytes went over RDMA.  Reads files, measures nothing."""

import json
import re
import statistics
from pathlib import Path

# Name, what it is called in the table, unit, is more better?
METRICS = [
    ("up", "iperf3, one stream, h2 to h1", "MB/s", True),
    ("down", "iperf3, one stream, h1 to h2", "MB/s", True),
    ("four", "iperf3, four streams, h2 to h1", "MB/s", True),
    ("rtt_p50", "sockperf 64 B round trip, p50", "us", False),
    ("rtt_p99", "sockperf 64 B round trip, p99", "us", False),
    ("connect_p50", "connect, p50", "us", False),
    ("connect_p99", "connect, p99", "us", False),
    ("first_echo_p50", "connect and first echo, p50", "us", False),
    ("first_echo_p99", "connect and first echo, p99", "us", False),
]


def _iperf3(name, text):
    end = json.loads(text)["end"]
    return ({name: end["sum_received"]["bits_per_second"] / 8e6},
            end["sum_received"]["bytes"])


def _sockperf(text):
    def percentile(which):
        found = re.search(rf"percentile {which} *= *([0-9.]+)", text)
        return float(found.group(1))
    return {"rtt_p50": percentile("50.000"), "rtt_p99": percentile("99.000")}


def _connect(text):
    said = json.loads(text)
    connect, total = said["connect_us"], said["total_us"]
    return {"connect_p50": connect["p50"], "connect_p99": connect["p99"],
            "first_echo_p50": total["p50"], "first_echo_p99": total["p99"],
            "first_ever": said["first_connect_us"]}


def _perftest_row(text):
    """The line of numbers below the heading that starts with #bytes."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "#bytes" in line)
    return [float(word) for word in lines[at + 1].split()]


def _send_lat(text):
    """perftest divides the round trip by two; multiply again."""
    row = _perftest_row(text)
    return {"rtt_p50": 2 * row[4], "rtt_p99": 2 * row[7]}


def _values(question, carrier, text):
    """Numbers of one measurement, and the bytes that it is sure to move."""
    if question == "pingpong" and carrier == "ud":
        return _send_lat(text), 0
    if question == "up" and carrier in ("ud", "rc"):
        return {"up": _perftest_row(text)[3] * 1.048576}, 0
    if question == "pingpong":
        return _sockperf(text), 0
    if question == "connect":
        return _connect(text), 0
    return _iperf3(question, text)


def _counters(path):
    """Device's, kernel TCP's and krcore's counters as one flat dict."""
    flat = {}
    for line in path.read_text().splitlines():
        name, _, number = line.rpartition(":")
        flat[name] = int(number)

    def add(prefix, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{prefix}.{key}", inner)
        elif isinstance(value, int):
            flat[prefix] = value
    add("krcore", json.loads(Path(f"{path}.json").read_text()))
    return flat


def _moved(file):
    """What the counters grew by during one measurement."""
    before = _counters(file.with_suffix(".before"))
    after = _counters(file.with_suffix(".after"))
    return {name: after[name] - before.get(name, 0) for name in after
            if after[name] != before.get(name, 0)}


def read(raw):
    """A list of measurements: question, carrier, run, values, counters."""
    measurements = []
    for status in sorted(Path(raw).glob("*.status")):
        question, carrier, run = status.stem.rsplit(".", 2)
        one = {"question": question, "carrier": carrier, "run": int(run),
               "status": int(status.read_text()), "values": {}, "bytes": 0}
        text = status.with_suffix(".txt").read_text()
        if one["status"] == 0:
            try:
                one["values"], one["bytes"] = _values(question, carrier, text)
            except (ValueError, KeyError, AttributeError, IndexError,
                    StopIteration) as error:
                one["status"] = f"cannot be read: {error!r}"
        try:
            one["counters"] = _moved(status)
        except (OSError, ValueError) as error:
            one["counters"] = {}
            one["status"] = one["status"] or f"no counters: {error!r}"
        measurements.append(one)
    return measurements


def medians(measurements):
    """{metric: {carrier: median of its runs}}"""
    found = {}
    for one in measurements:
        for metric, value in one["values"].items():
            found.setdefault(metric, {}).setdefault(
                one["carrier"], []).append(value)
    return {metric: {carrier: statistics.median(values)
                     for carrier, values in by_carrier.items()}
            for metric, by_carrier in found.items()}


def spreads(measurements):
    """{metric: (least, largest)} of krcore/TCP in each run."""
    values = {}
    for one in measurements:
        for metric, value in one["values"].items():
            values[metric, one["run"], one["carrier"]] = value
    found = {}
    for (metric, run, carrier), value in values.items():
        base = values.get((metric, run, "tcp"))
        if carrier == "krcore" and base:
            found.setdefault(metric, []).append(value / base)
    return {metric: (min(ratios), max(ratios))
            for metric, ratios in found.items()}


def _sum(measurements, name):
    return sum(one["counters"].get(name, 0) for one in measurements)


def proof(measurements, mtu=4096):
    """Did krcore's bytes go over RDMA?  Numbers, and a list of objections."""
    ours = [one for one in measurements if one["carrier"] == "krcore"]
    numbers = {
        "bytes_of_programs": sum(one["bytes"] for one in ours),
        "krcore_bytes_rdma": _sum(ours, "krcore.tx_bytes_rdma")
        + _sum(ours, "krcore.rx_bytes_rdma"),
        "krcore_bytes_tcp": _sum(ours, "krcore.tx_bytes_tcp")
        + _sum(ours, "krcore.rx_bytes_tcp"),
        "krcore_conns_rdma": _sum(ours, "krcore.conns_rdma"),
        "krcore_conns_tcp": _sum(ours, "krcore.conns_tcp"),
        "device_packets": _sum(ours, "sent_pkts") + _sum(ours, "rcvd_pkts"),
        "device_sends": _sum(ours, "rdma_sends"),
        "device_receives": _sum(ours, "rdma_recvs"),
        "kernel_tcp_segments": _sum(ours, "tcp_OutSegs")
        + _sum(ours, "tcp_InSegs"),
        "kernel_tcp_connects": _sum(ours, "tcp_ActiveOpens"),
    }
    wrong = []
    if not numbers["bytes_of_programs"]:
        wrong.append("no bytes were measured over krcore")
    if numbers["krcore_bytes_rdma"] < numbers["bytes_of_programs"]:
        wrong.append("krcore counts fewer bytes over RDMA than programs sent")
    if numbers["krcore_bytes_tcp"] or numbers["krcore_conns_tcp"]:
        wrong.append("krcore counts bytes or connections over TCP")
    if numbers["device_packets"] * mtu < numbers["krcore_bytes_rdma"]:
        wrong.append("the RDMA device counts too few packets for these bytes")
    if numbers["kernel_tcp_segments"] or numbers["kernel_tcp_connects"]:
        wrong.append("the kernel's TCP moved segments")
    return numbers, wrong
