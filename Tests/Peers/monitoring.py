"""A real Prometheus reads a running gateway: its rules load, and every query of the dashboard has an answer. Standard library only.

Usage: monitoring.py TIDEGATE     (the built executable; needs prometheus)
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from processes import free_port

# Series that a gateway on loopback, without TLS, a recording and a data folder, does not have.
ABSENT = ("tidegate_tls_", "tidegate_recording_", "tidegate_history_")


def until(what, seconds, body):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if result := body():
                return result
        except OSError:
            pass
        time.sleep(0.25)
    sys.exit(f"  {what} did not come within {seconds} s")


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def main(binary, folder):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "Deploy/monitoring/dashboard.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    queries = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    rules = os.path.join(root, "Deploy/monitoring/rules.yaml")
    clients, internal, port = free_port(), free_port(), free_port()
    with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
        file.write(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{rules}']\nscrape_configs:\n"
                   f"  - job_name: tidegate\n    static_configs: [{{targets: ['127.0.0.1:{internal}']}}]\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TIDEGATE_")}
    environment["TIDEGATE_DATA_DIRECTORY"] = "none"
    processes = []
    try:
        with open(os.path.join(folder, "log"), "wb") as log:
            processes.append(subprocess.Popen(
                [binary, "serve", "--demo", "--listen", f"127.0.0.1:{clients}", "--internal-listen", f"127.0.0.1:{internal}"],
                env=environment, stdout=log, stderr=log))
            processes.append(subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log))
        base = f"http://127.0.0.1:{port}/api/v1"

        def ask(expression):
            expression = expression.replace("$instance", ".*")
            answer = json.loads(get(f"{base}/query?" + urllib.parse.urlencode({"query": expression})))
            return answer["data"]["result"]

        until("a live feed in Prometheus", 90, lambda: ask('tidegate_feed_state{state="live"} == 1'))
        # A route has a series after its first request.
        until("an answer on the client port", 30, lambda: get(f"http://127.0.0.1:{clients}/v1/status"))
        until("it in Prometheus", 30, lambda: ask('tidegate_http_requests_total{route="/v1/status",code="200"}'))
        # Rates need two scrapes.
        until("a rate", 30, lambda: ask("rate(tidegate_feed_messages_total[1m]) > 0"))
        until("another", 30, lambda: ask("rate(tidegate_http_requests_total[1m])"))
        empty = [f"{title}: {expr}" for title, expr in queries if not ask(expr)]
        if empty:
            sys.exit("  nothing answers " + "\n  ".join(empty))

        loaded = [rule for group in json.loads(get(f"{base}/rules"))["data"]["groups"] for rule in group["rules"]]
        broken = [rule["name"] for rule in loaded if rule["health"] not in ("ok", "unknown")]
        if broken or not loaded:
            sys.exit(f"  rules that cannot be evaluated: {broken}")
        # Each metric in a rule exists, so that no alert is silent because of a wrong name.
        names = {name for rule in loaded for name in re.findall(r"\b(?:tidegate|process)_[a-z_]+", rule["query"])}
        unknown = sorted(name for name in names if not name.startswith(ABSENT) and not ask(name))
        if unknown:
            sys.exit(f"  rules name metrics that are not there: {unknown}")
        # A demo has simulated prices: that alert must be pending or firing.
        until("the alert for simulated prices", 30, lambda: [
            alert for alert in json.loads(get(f"{base}/alerts"))["data"]["alerts"]
            if alert["labels"]["alertname"] == "TidegateSimulatedPrices"])
        print(f"  {len(queries)} queries of the dashboard answered, {len(loaded)} rules evaluated,"
              " the alert for simulated prices raised")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tidegate-") as directory:
        main(sys.argv[1], directory)
