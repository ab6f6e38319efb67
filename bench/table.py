# SPDX-License-Identifier: MIT
"""Results as text for people."""

from results import METRICS

NAMES = {"tcp": "TCP", "krcore": "krcore", "ud": "raw UD", "rc": "raw RC",
         "cm": "rdma_cm", "rsocket": "rsocket"}
# Metric, peer, sign and bound of krcore/peer, what is compared.
TARGETS = [
    ("rtt_p50", "ud", "<=", 1.0, "64 B round trip / raw UD verbs"),
    ("rtt_p50", "tcp", "", 0, "64 B round trip / kernel TCP"),
    ("up", "ud", "", 0, "one stream / raw UD verbs, 4 KiB"),
    ("up", "rc", ">=", 1.0, "one stream / raw RC verbs, 64 KiB"),
    ("up", "tcp", "", 0, "one stream / kernel TCP"),
    ("connect_p50", "tcp", "<=", 0.7, "connect / kernel TCP"),
    ("connect_p50", "cm", "<=", 0.1, "connect / rdma_cm"),
    ("connect_p50", "rsocket", "<=", 0.1, "connect / rsocket (librspreload)"),
]


def _cell(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _verdict(ratio, low, high, more):
    """krcore beside TCP in words, as far as all runs agree."""
    if 0.95 <= ratio <= 1.05:
        return "as TCP"
    if low < 1 < high:
        return "varies"
    return "better" if (ratio > 1) == more else "worse"


def measured(medians, spreads):
    """One line for each metric: carriers, krcore/TCP of the medians, the
    least and the largest of each run, which is better."""
    carriers = [c for c in NAMES
                if any(c in by_carrier for by_carrier in medians.values())]
    lines = [" " * 40 + "".join(f"{NAMES[c]:>10}" for c in carriers)
             + "  krcore/TCP    min-max"]
    for name, title, unit, more in METRICS:
        values = medians.get(name, {})
        line = f"{title:<34}{unit:<6}"
        line += "".join(f"{_cell(values.get(c)):>10}" for c in carriers)
        if values.get("tcp") and values.get("krcore"):
            ratio = values["krcore"] / values["tcp"]
            low, high = spreads[name]
            line += (f"{ratio:>11.2f}x{f'{low:.2f}-{high:.2f}':>11}  "
                     f"{_verdict(ratio, low, high, more)}")
        lines.append(line)
    return lines


def relative(medians):
    """Lines for gnuplot: a metric and each carrier's part of TCP's value."""
    carriers = [c for c in NAMES if c != "tcp"]
    lines = ["metric " + " ".join(f'"{NAMES[c]}"' for c in carriers)]
    for name, _, _, _ in METRICS:
        values = medians.get(name, {})
        if values.get("tcp"):
            cells = (f"{values[c] / values['tcp']:.3f}" if values.get(c)
                     else "-" for c in carriers)
            lines.append(f"{name.replace('_', '-')} " + " ".join(cells))
    return lines


def targets(medians):
    """One line for each target: ratio, bound, met or not."""
    lines = [f"{'krcore beside its peers, ratio':<40}{'krcore':>10}"
             f"{'peer':>10}{'ratio':>8}  target"]
    for metric, peer, sign, bound, title in TARGETS:
        values = medians.get(metric, {})
        ours, theirs = values.get("krcore"), values.get(peer)
        line = f"{title:<40}{_cell(ours):>10}{_cell(theirs):>10}"
        if ours and theirs:
            ratio = ours / theirs
            line += f"{ratio:>8.2f}"
            if sign:
                met = ratio <= bound if sign == "<=" else ratio >= bound
                line += f"  {sign} {bound:<4} {'met' if met else 'NOT MET'}"
        else:
            line += f"{'-':>8}  not measured"
        lines.append(line.rstrip())
    return lines


def proof(numbers, wrong):
    """What the counters say, in three lines and a verdict."""
    lines = [
        f"krcore:       {numbers['krcore_bytes_rdma'] / 1e6:,.1f} MB on "
        f"{numbers['krcore_conns_rdma']} connections over RDMA, "
        f"{numbers['krcore_bytes_tcp']} bytes on "
        f"{numbers['krcore_conns_tcp']} over TCP",
        f"RDMA device:  {numbers['device_packets']:,} packets "
        f"({numbers['device_sends']:,} sends, "
        f"{numbers['device_receives']:,} receives) while krcore was measured",
        f"kernel TCP:   {numbers['kernel_tcp_segments']} segments, "
        f"{numbers['kernel_tcp_connects']} connects in that time",
    ]
    lines += [f"NOT PROVEN: {text}" for text in wrong] or [
        "So all of it went over RDMA and none over TCP."]
    return lines
