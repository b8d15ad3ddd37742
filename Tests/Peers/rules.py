"""Evaluates the shipped alert rules, with their own times, over series as faults make them: each alert fires in its
time, stays silent before, and clears. Standard library only; needs promtool.

Usage: rules.py
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "Deploy/monitoring/rules.yaml")
# Prometheus' usual interval.
STEP = 15


def minutes(*parts):
    """A series from pieces (minutes, first value, growth a step); a growth of None keeps the value."""
    values = []
    for length, first, growth in parts:
        for step in range(round(length * 60 / STEP)):
            values.append(first + (growth or 0) * step)
    return " ".join(f"{value:g}" for value in values)


def feed(name, values, /, **labels):
    pairs = {"instance": "a", "job": "tidegate", "venue": "kraken", "connection": "kraken"} | labels
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in pairs.items())}}}", values


def own(name, values, /, **labels):
    pairs = {"instance": "a", "job": "tidegate"} | labels
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in pairs.items())}}}", values


def counts(before, fault, after, growth):
    """A counter that grows during the fault only."""
    steps = round(fault * 60 / STEP)
    return minutes((before, 0, None), (fault, growth, growth), (after, growth * steps, None))


def states(*parts):
    """The states of a feed: (minutes, state)."""
    names = ["connecting", "live", "stale", "syncing", "maintenance", "disconnected"]
    return [feed("tidegate_feed_state", minutes(*((length, int(state == name), None) for length, state in parts)), state=name)
            for name in names]


CLOSED = "tidegate_clients_closed_total"
REFUSED = "tidegate_refused_total"
# The alert, what happens, the series of the fault, and when it must be: silent, firing, silent again, in minutes. Each
# fault begins at minute 10.
CASES = [
    # A dead socket: 15 s of silence between replaced connections. Most scrapes do not see the state.
    ("TidegateFeedStale", "one silence of 12 s",
     [feed("tidegate_feed_silences_total", minutes((10, 0, None), (40, 1, None)))] + states((50, "live")), 9.9, 10.5, 16),
    ("TidegateFeedDown", "the venue is away for ten minutes",
     states((10, "live"), (10, "disconnected"), (20, "live")), 11.5, 12.5, 20.5),
    ("TidegateNoDataFromVenue", "the venue sends nothing for ten minutes",
     [feed("tidegate_feed_age_seconds", minutes((10, 0.1, None), (10, 15, 15), (20, 0.1, None)))], 12.5, 13.75, 20.5),
    ("TidegateBooksNotLive", "a symbol is refused",
     [feed("tidegate_feed_books", minutes((10, 0, None), (10, 1, None), (20, 0, None)), state="syncing")], 14.5, 15.5, 20.5),
    ("TidegateResyncStorm", "ten books a minute lose sync",
     [feed("tidegate_feed_resyncs_total", counts(10, 15, 20, 2.5), reason="gap")], 14, 21, 31),
    ("TidegateUnreadableMessages", "half of a message a second cannot be read",
     [feed("tidegate_feed_rejected_total", counts(10, 20, 20, 7.5))], 19, 25, 36),
    ("TidegateSlowClients", "four of five clients stop reading and do not come back",
     [own(CLOSED, minutes((10, 0, None), (40, 4, None)), reason="slow"),
      own("tidegate_clients", minutes((10, 5, None), (40, 1, None)), transport="ws", encoding="plain")], 9.9, 12, 22),
    ("TidegateSlowClients", "a few of a thousand phones fall asleep: no alert",
     [own(CLOSED, counts(10, 20, 20, 1), reason="no_pong"),
      own("tidegate_clients", minutes((50, 1000, None)), transport="wss", encoding="plain")], 9.9, None, 25),
    ("TidegateSlowClients", "twenty a minute are closed and come back",
     [own(CLOSED, counts(10, 20, 30, 5), reason="slow"),
      own("tidegate_clients", minutes((60, 1000, None)), transport="ws", encoding="plain")], 9.9, 18, 42),
    ("TidegateQueueMemory", "clients do not read",
     [own("tidegate_queued_bytes", minutes((10, 0, None), (10, 220e6, None), (20, 0, None)))], 10.5, 11.75, 20.5),
    ("TidegateClientsRefused", "the gateway is full for five minutes",
     [own(REFUSED, counts(10, 5, 30, 1), reason="connections")], 11.5, 13, 21),
    ("TidegateDescriptors", "nine of ten descriptors are open",
     [own("process_open_fds", minutes((10, 10, None), (10, 900, None), (20, 10, None))),
      own("process_max_fds", minutes((40, 1000, None)))], 11.5, 12.5, 20.5),
    ("TidegateCertificateExpires", "a certificate is renewed late",
     [own("tidegate_tls_certificate_expiry_seconds", minutes((10, 20 * 86400, None), (10, 10 * 86400, None), (20, 90 * 86400, None)),
          name="gateway.example")], 9.5, 10.5, 20.5),
    ("TidegateRecordingStopped", "the disk is full",
     [own("tidegate_recording_paused", minutes((10, 0, None), (10, 1, None), (20, 0, None)), set="kraken"),
      own("tidegate_recording_lost_records_total", minutes((40, 0, None)), set="kraken")], 10.5, 11.5, 20.5),
    ("TidegateSimulatedPrices", "a simulator is configured",
     [feed("tidegate_feed_simulated", minutes((10, 0, None), (10, 1, None), (20, 0, None)))], 10.5, 11.5, 20.5),
    ("TidegateLoopSlow", "turns of 80 ms",
     [own("tidegate_loop_turn_seconds_bucket", counts(10, 15, 20, growth), loop="0", le=le)
      for le, growth in (("0.05", 90), ("0.1", 100), ("+Inf", 100))], 14, 21, 31),
    ("TidegateBookCrossed", "a book crosses three times a minute",
     [feed("tidegate_feed_resyncs_total", counts(10, 15, 20, 0.75), reason="crossed")], 14, 21, 31),
    ("TidegateHistoryStopped", "the disk is full",
     [own("tidegate_history_failing", minutes((10, 0, None), (10, 1, None), (20, 0, None))),
      own("tidegate_history_items_lost_total", minutes((40, 0, None)))], 10.5, 11.5, 20.5),
]


def text():
    lines = [f"rule_files: [{json.dumps(RULES)}]", f"evaluation_interval: {STEP}s", "tests:"]
    for alert, what, series, quiet, fires, over in CASES:
        lines += [f"- name: {json.dumps(alert + ': ' + what)}", f"  interval: {STEP}s", "  input_series:"]
        lines += [f"  - {{series: {json.dumps(name)}, values: {json.dumps(values)}}}" for name, values in series]
        lines.append("  promql_expr_test:")
        firing = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
        for minute, value in ((quiet, 0), (fires, 1), (over, 0)):
            if minute is not None:
                lines.append(f"  - {{expr: {json.dumps(firing)}, eval_time: {round(minute * 60)}s, "
                             f"exp_samples: [{{labels: '{{}}', value: {value}}}]}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("  promtool is not installed")
        sys.exit(77)
    with open(RULES, encoding="utf-8") as file:
        alerts = set(re.findall(r"alert: (\w+)", file.read()))
    if lacking := alerts ^ {case[0] for case in CASES}:
        sys.exit(f"  rules without a case, or cases without a rule: {sorted(lacking)}")
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        path = os.path.join(folder, "rules.test.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text())
        run = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    print(f"  {len(alerts)} alerts fire in their time and clear, over {len(CASES)} faults")
