"""Drills: for each alert of Deploy/monitoring/rules.yaml, causes a fault. A real Prometheus must raise the alert, and
the operators' view (`tidegate top --once --json`, the document of the page /ops) must show the fault. After the end of
the fault, both must clear. Standard library only; needs prometheus, and openssl for the certificate.

Usage: drills.py TIDEGATE [--as-shipped] [--all | NAME…]     (the built executable; without --all those that fit in a
minute and a half)

The rules are a copy with shorter times: `for` is 1 s, and a window of minutes is one of 10 s. With --as-shipped they have
their own times, and Prometheus its usual interval of 15 s: that takes up to half an hour. rules.py tests the times too.
"""

import base64
import concurrent.futures
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from processes import free_port

TOKEN = "a-token-for-the-drills-1234"
DRILLS = {}
# How long an alert, and its end, may take: a scrape, an evaluation and the window, beside what the gateway itself waits for.
SHIPPED = "--as-shipped" in sys.argv
PATIENCE = 1800 if SHIPPED else 60


def drill(name, quick=True):
    def register(body):
        DRILLS[name] = (body, quick)
        return body
    return register


def until(what, body, seconds=PATIENCE):
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        try:
            if last := body():
                return last
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            last = error
        time.sleep(0.25)
    raise AssertionError(f"{what}: not within {seconds} s; last seen: {str(last)[:300]}")


class Program:
    """A process that ends with the drill."""

    def __init__(self, world, arguments, environment=None, prefix=()):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("TIDEGATE_")}
        clean["TIDEGATE_DATA_DIRECTORY"] = "none"
        self.process = subprocess.Popen(
            [*prefix, world.binary, *arguments], env={**clean, **(environment or {})}, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(world.folder, "log"), "ab"))
        world.programs.append(self)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class World:
    """One drill: its own folder, venues and gateway; the gateway is a target of the Prometheus that all share."""

    def __init__(self, name, binary, folder, prometheus):
        self.name, self.binary, self.prometheus, self.programs = name, binary, prometheus, []
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.token = os.path.join(self.folder, "token")
        with open(self.token, "w", encoding="utf-8") as file:
            file.write(TOKEN)
        self.venues, self.told = {}, {}

    def venue(self, name, symbols, path, *faults, rate=10):
        """A simulated exchange, and the flags of a gateway that follows it."""
        port = self.venues.get(name) or free_port()
        self.venues[name] = port
        arguments = ["simulate", "--venue", name, "--listen", f"127.0.0.1:{port}", "--rate", str(rate)]
        for fault in faults:
            arguments += ["--fault", fault]
        program = Program(self, arguments)
        until(f"{name} listens", lambda: socket.create_connection(("127.0.0.1", port), 1).close() is None)
        flags = ["--feed", f"{name}={symbols}", "--endpoint", f"{name}=ws://127.0.0.1:{port}{path}"]
        return program, flags

    def gateway(self, *flags, environment=None, prefix=()):
        self.clients, self.internal = free_port(), free_port()
        program = Program(
            self, ["serve", "--listen", f"127.0.0.1:{self.clients}", "--internal-listen", f"127.0.0.1:{self.internal}",
                   "--loops", "1", *flags],
            {"TIDEGATE_ADMIN_TOKEN_FILE": self.token, **(environment or {})}, prefix)
        until("the gateway answers", lambda: self.get("/livez"))
        self.prometheus.watch(self.name, self.internal)
        return program

    def ask(self, method, path):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.internal}{path}", method=method, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def get(self, path):
        return self.ask("GET", path)

    def state(self):
        """The document that the page and the terminal show, read through `tidegate top`."""
        answer = subprocess.run(
            [self.binary, "top", "--once", "--json", "--at", f"127.0.0.1:{self.internal}", "--token-file", self.token],
            capture_output=True, text=True, timeout=30, check=False)
        if answer.returncode:
            raise OSError(f"top ended with {answer.returncode}: {answer.stderr}")
        return json.loads(answer.stdout)

    def feed(self, name):
        return next(feed for feed in self.state()["feeds"] if feed["connection"].startswith(name))

    def live(self, name):
        until(f"{name} is live", lambda: self.feed(name)["state"] == "live")

    def raised(self, alert, shows):
        began = time.monotonic()
        until(f"{alert} is raised", lambda: self.prometheus.fires(alert, self.name))
        fired = time.monotonic() - began
        until(f"{alert} is shown", lambda: shows(self.state()), 20)
        self.told["raised"] = fired

    def cleared(self, alert, shows):
        began = time.monotonic()
        until(f"{alert} is over", lambda: not self.prometheus.fires(alert, self.name))
        until(f"{alert} is shown no more", lambda: not shows(self.state()), 20)
        self.told["cleared"] = time.monotonic() - began

    def websocket(self, symbols=None, channel="trades"):
        """A client on the stream; it reads nothing after its handshake."""
        peer = socket.create_connection(("127.0.0.1", self.clients), 10)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        key = base64.b64encode(os.urandom(16)).decode()
        peer.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                     f"Sec-WebSocket-Protocol: tidegate.v1\r\n\r\n".encode())
        answer = peer.recv(4096)
        if b" 101 " not in answer:
            peer.close()
            raise OSError(answer.decode(errors="replace")[:80])
        if symbols:
            text = json.dumps({"op": "subscribe", "streams": [
                {"channel": name, "symbols": [symbols]} for name in channel.split(",")]}).encode()
            peer.sendall(bytes([0x81, 0xFE]) + len(text).to_bytes(2, "big") + bytes(4) + text)
        return peer

    def end(self):
        for program in reversed(self.programs):
            program.stop()


class Prometheus:
    def __init__(self, folder):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(root, "Deploy/monitoring/rules.yaml"), encoding="utf-8") as file:
            rules = file.read()
        self.alerts = re.findall(r"alert: (\w+)", rules)
        if not SHIPPED:
            rules = re.sub(r"for: \w+", "for: 1s", rules).replace("age_seconds > 120", "age_seconds > 4")
            rules = re.sub(r"\[\d+m\]", "[10s]", rules)
        # The bound of the drill's gateway, not the default's.
        rules = rules.replace("268435456", "65536")
        with open(os.path.join(folder, "rules.yaml"), "w", encoding="utf-8") as file:
            file.write(rules)
        self.targets, self.known, self.lock = os.path.join(folder, "targets.json"), {}, threading.Lock()
        self.watch()
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            interval = "15s" if SHIPPED else "1s"
            file.write(f"global: {{scrape_interval: {interval}, evaluation_interval: {interval}}}\nrule_files: [rules.yaml]\nscrape_configs:\n"
                       "  - job_name: tidegate\n    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]\n")
        port = free_port()
        self.base = f"http://127.0.0.1:{port}/api/v1"
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(folder, "prometheus.log"), "wb"))
        until("prometheus answers", lambda: self.get("alerts"))

    def watch(self, name=None, port=None):
        with self.lock:
            if name:
                self.known[name] = port
            lines = [{"targets": [f"127.0.0.1:{port}"], "labels": {"drill": name, "instance": name}}
                     for name, port in self.known.items()]
            with open(self.targets + ".new", "w", encoding="utf-8") as file:
                json.dump(lines, file)
            os.replace(self.targets + ".new", self.targets)

    def get(self, what):
        with urllib.request.urlopen(f"{self.base}/{what}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def has(self, metric, name):
        """Whether Prometheus has scraped a metric of a gateway: it sees no increase of a counter before that."""
        selector = urllib.parse.quote(f'{metric}{{instance="{name}"}}')
        return self.get(f"query?query={selector}")["result"]

    def fires(self, alert, name):
        return any(each["state"] == "firing" and each["labels"]["alertname"] == alert
                   and each["labels"].get("instance") == name for each in self.get("alerts")["alerts"])


# The drills


@drill("TidegateFeedStale")
def stale(world):
    venue, flags = world.venue("kraken", "BTC-USD", "/v2")
    world.gateway(*flags)
    world.live("kraken")
    until("the counter is scraped", lambda: world.prometheus.has("tidegate_feed_silences_total", world.name))
    shows = lambda state: state["feeds"][0]["indicator"] != "connected"
    # The socket stays open, and nothing comes.
    venue.process.send_signal(signal.SIGSTOP)
    try:
        world.raised("TidegateFeedStale", shows)
    finally:
        venue.process.send_signal(signal.SIGCONT)
    world.cleared("TidegateFeedStale", shows)


@drill("TidegateFeedDown")
def down(world):
    venue, flags = world.venue("kraken", "BTC-USD", "/v2")
    world.gateway(*flags)
    world.live("kraken")
    venue.stop()
    shows = lambda state: state["status"] == "failing" and state["feeds"][0]["indicator"] == "reconnecting"
    world.raised("TidegateFeedDown", shows)
    world.venue("kraken", "BTC-USD", "/v2")
    world.cleared("TidegateFeedDown", shows)


@drill("TidegateNoDataFromVenue")
def silent(world):
    port = free_port()
    world.venues["kraken"] = port
    world.gateway("--feed", "kraken=BTC-USD", "--endpoint", f"kraken=ws://127.0.0.1:{port}/v2")
    shows = lambda state: "age_ms" not in state["feeds"][0]
    world.raised("TidegateNoDataFromVenue", shows)
    world.venue("kraken", "BTC-USD", "/v2")
    world.cleared("TidegateNoDataFromVenue", shows)


@drill("TidegateBooksNotLive")
def books(world):
    venue, flags = world.venue("kraken", "BTC-USD,ZEC-USD", "/v2", "refuse=ZEC-USD")
    world.gateway(*flags)
    shows = lambda state: any(book["symbol"] == "kraken:ZEC-USD" for book in state["books"])
    world.raised("TidegateBooksNotLive", shows)
    venue.stop()
    world.venue("kraken", "BTC-USD,ZEC-USD", "/v2")
    world.cleared("TidegateBooksNotLive", shows)


def resyncing(world, alert, name, path, fault, count, rate=20):
    venue, flags = world.venue(name, "BTC-USD,ETH-USD", path, fault, rate=rate)
    world.gateway(*flags)
    world.raised(alert, lambda state: count(state["feeds"][0]) > 0)
    venue.stop()
    world.venue(name, "BTC-USD,ETH-USD", path)
    # The counter keeps its value; the feed is live again.
    world.cleared(alert, lambda state: state["feeds"][0]["state"] != "live" or state["books_not_live"] > 0)


@drill("TidegateResyncStorm")
def storm(world):
    resyncing(world, "TidegateResyncStorm", "kraken", "/v2", "checksum@1/0.5", lambda feed: feed["resyncs"])


@drill("TidegateUnreadableMessages")
def unreadable(world):
    resyncing(world, "TidegateUnreadableMessages", "kraken", "/v2", "malformed@1/0.5", lambda feed: feed["rejected"])


@drill("TidegateBookCrossed", quick=False)
def crossed(world):
    # Coinbase does not number its messages: a missing one shows when the book crosses.
    resyncing(world, "TidegateBookCrossed", "coinbase", "/", "gap@1/0.1", lambda feed: feed["resyncs"], rate=100)


@drill("TidegateSlowClients")
def slow(world):
    _, flags = world.venue("kraken", "BTC-USD,ETH-USD", "/v2", rate=200)
    world.gateway(*flags, environment={"TIDEGATE_LIMITS_QUEUED_BYTES": "65536", "TIDEGATE_LIMITS_STALL_SECONDS": "1"})
    world.live("kraken")
    # Clients that stop reading, are closed, and do not come back.
    peers = [world.websocket("kraken:*", "trades,book,quote,ticker") for _ in range(8)]
    gone = lambda state: sum(state["clients"]["closed"].get(each, 0) for each in ("slow", "no_pong")) > 2
    world.raised("TidegateSlowClients", gone)
    for peer in peers:
        peer.close()
    # The counter keeps its value.
    world.cleared("TidegateSlowClients", lambda state: state["status"] != "ok")


@drill("TidegateQueueMemory", quick=False)
def queues(world):
    _, flags = world.venue("kraken", "BTC-USD,ETH-USD,ZEC-USD", "/v2", rate=200)
    world.gateway(*flags, environment={"TIDEGATE_LIMITS_TOTAL_QUEUED_BYTES": "1048576"})
    world.live("kraken")
    peers = [world.websocket("kraken:*", "trades,book,quote,ticker") for _ in range(40)]
    shows = lambda state: state["clients"]["slow"] > 0 and state["slow"][0]["queued_bytes"] > 0
    world.raised("TidegateQueueMemory", shows)
    for peer in peers:
        peer.close()
    world.cleared("TidegateQueueMemory", shows)


@drill("TidegateClientsRefused")
def refused(world):
    _, flags = world.venue("kraken", "BTC-USD", "/v2")
    world.gateway(*flags, environment={"TIDEGATE_LIMITS_CLIENTS": "1"})
    first = world.websocket()
    over = threading.Event()

    def knock():
        while not over.wait(0.5):
            try:
                world.websocket().close()
            except OSError:
                pass

    thread = threading.Thread(target=knock)
    thread.start()
    shows = lambda state: any("limits.clients is nearly used up" in each for each in state["warnings"])
    try:
        world.raised("TidegateClientsRefused", lambda state: shows(state) and state["clients"]["refused"]["connections"] > 0)
    finally:
        over.set()
        thread.join()
        first.close()
    world.cleared("TidegateClientsRefused", shows)


@drill("TidegateDescriptors")
def descriptors(world):
    _, flags = world.venue("kraken", "BTC-USD", "/v2")
    gateway = world.gateway(*flags)
    world.live("kraken")
    pid = gateway.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")) + 3, before[1]))
    shows = lambda state: any(each.startswith("descriptors is nearly used up") for each in state["warnings"])
    world.raised("TidegateDescriptors", shows)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    world.cleared("TidegateDescriptors", shows)


@drill("TidegateCertificateExpires")
def certificate(world):
    chain, key = (os.path.join(world.folder, name) for name in ("chain.pem", "key.pem"))

    def make(days):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", str(days), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", chain], check=True, capture_output=True)

    make(7)
    _, flags = world.venue("kraken", "BTC-USD", "/v2")
    gateway = world.gateway(*flags, environment={"TIDEGATE_TLS_CERTIFICATE": chain, "TIDEGATE_TLS_KEY": key})
    shows = lambda state: any("a certificate expires in 6 d" in each for each in state["warnings"])
    world.raised("TidegateCertificateExpires", shows)
    make(90)
    gateway.process.send_signal(signal.SIGHUP)
    world.cleared("TidegateCertificateExpires", shows)


def full_disk(world, alert, flag, shows, environment=None, size="512k"):
    """A gateway on its own disk, which another program has filled."""
    place = os.path.join(world.folder, "disk")
    os.mkdir(place)
    script = f"mount -t tmpfs -o size={size} tmpfs {place} && exec \"$@\""
    _, flags = world.venue("kraken", "BTC-USD", "/v2", rate=200)
    gateway = world.gateway(*flags, *flag(place), environment=environment and environment(place),
                            prefix=("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"))
    world.live("kraken")
    filler = f"/proc/{gateway.process.pid}/root{place}/filler"
    try:
        with open(filler, "wb", 0) as file:
            while file.write(bytes(4096)):
                pass
    except OSError:
        pass
    world.raised(alert, shows)
    os.remove(filler)
    world.cleared(alert, shows)


@drill("TidegateRecordingStopped", quick=False)
def recording(world):
    full_disk(world, "TidegateRecordingStopped", lambda place: ["--record", place + "/"],
              lambda state: any("a recording is not written" in each for each in state["warnings"]))


@drill("TidegateHistoryStopped", quick=False)
def history(world):
    full_disk(world, "TidegateHistoryStopped", lambda place: [],
              lambda state: any("history is not written" in each for each in state["reasons"]),
              # Space for the candles that are requested at the start, and for the log.
              environment=lambda place: {"TIDEGATE_DATA_DIRECTORY": place}, size="8m")


@drill("TidegateSimulatedPrices")
def simulated(world):
    _, flags = world.venue("kraken", "BTC-USD", "/v2")
    world.gateway(*flags)
    shows = lambda state: any("prices are not real: kraken" in each for each in state["warnings"])
    world.raised("TidegateSimulatedPrices", shows)
    world.ask("POST", "/admin/feeds/kraken/stop")
    world.cleared("TidegateSimulatedPrices", shows)


@drill("TidegateLoopSlow", quick=False)
def loop(world):
    _, flags = world.venue("kraken", "BTC-USD,ETH-USD,ZEC-USD", "/v2", rate=300)
    gateway = world.gateway(*flags)
    world.live("kraken")
    peers = [world.websocket("kraken:*", "book") for _ in range(20)]
    over = threading.Event()

    # Whatever the loop does when it is stopped takes that much longer. It runs for so short a time that what has come
    # meanwhile is not done by the next stop.
    def stall():
        while not over.wait(0.004):
            gateway.process.send_signal(signal.SIGSTOP)
            time.sleep(0.08)
            gateway.process.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=stall)
    thread.start()
    shows = lambda state: any(each.startswith("loop 0 keeps clients waiting") for each in state["warnings"])
    try:
        world.raised("TidegateLoopSlow", shows)
    finally:
        over.set()
        thread.join()
        for peer in peers:
            peer.close()
    world.cleared("TidegateLoopSlow", shows)


def run(name, binary, folder, prometheus):
    world = World(name, binary, folder, prometheus)
    try:
        DRILLS[name][0](world)
        return name, None, world.told
    except Exception as error:  # pylint: disable=broad-except
        # The output of the drill's processes was deleted with its folder.
        with open(os.path.join(world.folder, "log"), errors="replace", encoding="utf-8") as log:
            return name, f"{error}\n    " + "    ".join(log.readlines()[-5:]), world.told
    finally:
        world.end()


def main(binary, names, folder):
    prometheus = Prometheus(folder)
    try:
        missing = sorted(set(prometheus.alerts) ^ set(DRILLS))
        if missing:
            sys.exit(f"  rules without a drill, or drills without a rule: {missing}")
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(16 if SHIPPED else 6) as pool:
            for name, error, told in pool.map(lambda name: run(name, binary, folder, prometheus), names):
                failed += error is not None
                times = ", ".join(f"{word} after {seconds:.1f} s" for word, seconds in told.items())
                print(f"  {name}: {error or times}", flush=True)
        print(f"  {len(names) - failed} of {len(names)} alerts raised, shown and cleared")
        sys.exit(1 if failed else 0)
    finally:
        prometheus.process.terminate()
        prometheus.process.wait(30)


if __name__ == "__main__":
    arguments = sys.argv[2:]
    chosen = [name for name in arguments if not name.startswith("--")] or [
        name for name, (_, quick) in DRILLS.items() if quick or "--all" in arguments]
    if unknown := [name for name in chosen if name not in DRILLS]:
        sys.exit(f"no drill is called {unknown[0]}; there are {', '.join(DRILLS)}")
    directory = tempfile.mkdtemp(prefix="tidegate-drills-")
    try:
        main(os.path.abspath(sys.argv[1]), chosen, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
