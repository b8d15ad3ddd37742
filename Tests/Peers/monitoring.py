"""A real Prometheus reads a running gateway: its rules load, and every query of the dashboard has an answer. Standard library only.

Usage: monitoring.py TIDEGATE     (the built executable; needs prometheus and openssl)
"""

import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from processes import free_port


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


def get(url, tls=None):
    with urllib.request.urlopen(url, timeout=10, context=tls) as answer:
        return answer.read().decode()


def main(binary, folder):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "Deploy/monitoring/dashboard.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    queries = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    rules = os.path.join(root, "Deploy/monitoring/rules.yaml")
    clients, internal, port = free_port(), free_port(), free_port()
    with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
        file.write(f"global: {{scrape_interval: 2s, evaluation_interval: 1s}}\nrule_files: ['{rules}']\nscrape_configs:\n"
                   f"  - job_name: tidegate\n    static_configs: [{{targets: ['127.0.0.1:{internal}']}}]\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TIDEGATE_")}
    # With a certificate, a recording and history, so that nothing of the dashboard is without a series.
    chain, key = (os.path.join(folder, name) for name in ("chain.pem", "key.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", chain], check=True, capture_output=True)
    environment |= {"TIDEGATE_DATA_DIRECTORY": os.path.join(folder, "history"), "TIDEGATE_TLS_CERTIFICATE": chain,
                    "TIDEGATE_TLS_KEY": key, "TIDEGATE_RECORD": os.path.join(folder, "recordings") + "/"}
    tls = ssl.create_default_context(cafile=chain)
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
        until("an answer on the client port", 30, lambda: get(f"https://localhost:{clients}/v1/status", tls))
        until("it in Prometheus", 30, lambda: ask('tidegate_http_requests_total{route="/v1/status",code="200"}'))
        # Rates need two scrapes.
        until("a rate", 30, lambda: ask("rate(tidegate_feed_messages_total[1m]) > 0"))
        until("another", 30, lambda: ask("rate(tidegate_http_requests_total[1m])"))
        # A scrape that failed ends every series until the next one: each query has its time.
        empty, end = queries, time.monotonic() + 30
        while (empty := [query for query in empty if not ask(query[1])]) and time.monotonic() < end:
            time.sleep(1)
        if empty:
            sys.exit("  nothing answers " + "\n  ".join(f"{title}: {expr}" for title, expr in empty))

        loaded = [rule for group in json.loads(get(f"{base}/rules"))["data"]["groups"] for rule in group["rules"]]
        broken = [rule["name"] for rule in loaded if rule["health"] not in ("ok", "unknown")]
        if broken or not loaded:
            sys.exit(f"  rules that cannot be evaluated: {broken}")
        # Each metric in a rule exists, so that no alert is silent because of a wrong name.
        names = {name for rule in loaded for name in re.findall(r"\b(?:tidegate|process)_[a-z_]+", rule["query"])}
        unknown = sorted(name for name in names if not ask(name))
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
