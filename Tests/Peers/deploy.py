"""Runs what Deploy contains: proxies before a gateway, the manifests against their schemas, the image's configuration,
and a crash with the settings of each way to run it.

Usage: deploy.py crash|nginx|caddy|container|kubernetes TIDEGATE TOOLS      (the built executable; a folder of programs)
Ends with 77 if a program is missing.
"""

import base64
import ctypes
import json
import os
import platform
import pty
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PATIENCE = 60  # Only a hang takes this long.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failure(Exception):
    pass


class Missing(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def until(what, body, seconds=PATIENCE):
    """Calls `body` until its answer is true, which it returns."""
    end = time.monotonic() + seconds
    while not (answer := body()):
        expect(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.02)
    return answer


def shipped(name):
    with open(os.path.join(ROOT, "Deploy", name), encoding="utf-8") as file:
        return file.read()


def program(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A program whose output is a file; ended with the trial."""

    all = []

    def __init__(self, arguments, log, terminal=None, **settings):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TIDEGATE_")}
        environment |= {"TIDEGATE_DATA_DIRECTORY": "none"} | settings
        self.log = log
        with open(log, "ab") as file:
            output = file if terminal is None else terminal
            self.process = subprocess.Popen(
                arguments, env=environment, stdin=terminal or subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )
        Process.all.append(self)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def end(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.process.args[0]} still runs {seconds} s after SIGTERM") from None

    @staticmethod
    def end_all():
        for each in Process.all:
            if each.process.poll() is None:
                each.process.kill()
                each.process.wait()


def demo(binary, folder, *flags, **settings):
    """A gateway with a simulated market; its two ports."""
    ports = free_port(), free_port()
    gateway = Process(
        [binary, "serve", "--demo", "--rate", "5", "--loops", "1", "--listen", f"127.0.0.1:{ports[0]}",
         "--internal-listen", f"127.0.0.1:{ports[1]}", *flags], os.path.join(folder, "gateway.log"), **settings)
    until("a live market", lambda: "feed live" in gateway.text())
    return gateway, *ports


class Stream:
    """A WebSocket client with the necessary parts of RFC 6455."""

    def __init__(self, port, tls=None, fields="", source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /v1/stream HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{fields}\r\n".encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.fill()
        self.head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        expect(self.head.startswith(b"HTTP/1.1 101 "), f"no upgrade: {self.head!r}")
        request = {"op": "subscribe", "id": 1, "streams": [{"channel": "book", "symbols": ["kraken:BTC-USD"]}]}
        payload = json.dumps(request).encode()
        self.socket.sendall(bytes([0x81, 0x80 | len(payload)]) + bytes(4) + payload)

    def fill(self):
        received = self.socket.recv(1 << 16)
        expect(received, "the stream ended without a close frame")
        self.bytes += received

    def take(self, count):
        length = lambda: len(self.bytes)
        while length() < count:
            self.fill()
        taken, self.bytes = self.bytes[:count], self.bytes[count:]
        return taken

    def message(self, wanted):
        """The next message of a type; an exception if the stream ends."""
        while True:
            first, size = self.take(2)
            size &= 0x7F
            for code, form, count in ((126, ">H", 2), (127, ">Q", 8)):
                if size == code:
                    size = struct.unpack(form, self.take(count))[0]
                    break
            payload = self.take(size)
            expect(first & 15 != 8, f"closed: {payload!r}")
            if first & 15 == 9:
                self.socket.sendall(bytes([0x8A, 0x80 | len(payload)]) + bytes(4) + payload)
            if first & 15 == 1 and (message := json.loads(payload))["type"] == wanted:
                return message

    def close(self):
        self.socket.close()


# Proxies


def certificate(folder):
    chain, key = os.path.join(folder, "fullchain.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", chain],
        check=True, capture_output=True)
    return chain, key, ssl.create_default_context(cafile=chain)


def before_proxy(binary, folder):
    token = os.path.join(folder, "token")
    with open(token, "w", encoding="utf-8") as file:
        file.write("a-token-of-operators-1234\n")
    _, port, internal = demo(
        binary, folder, TIDEGATE_TRUSTED_PROXIES="127.0.0.1", TIDEGATE_PROXY_HEADER="x-forwarded-for",
        TIDEGATE_ADMIN_TOKEN_FILE=token)

    def addresses():
        request = urllib.request.Request(
            f"http://127.0.0.1:{internal}/admin/clients", headers={"Authorization": "Bearer a-token-of-operators-1234"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    return port, addresses


def speaks(port, tls, chain, addresses, versions):
    """What every proxy must do. Returns an open stream."""
    curl = program("curl")
    for flag, version in versions:
        answer = subprocess.run(
            [curl, "-sS", "--cacert", chain, flag, "-o", os.devnull, "-w", "%{http_code} %{http_version}",
             f"https://localhost:{port}/v1/instruments"], capture_output=True, text=True, timeout=30, check=False)
        expect(answer.stdout == f"200 {version}", f"{flag}: {answer.stdout} {answer.stderr}")
    # The address of the client reaches the gateway, and not the one that it claims.
    stream = Stream(port, tls, "X-Forwarded-For: 203.0.113.9\r\n", source="127.0.0.3")
    stream.message("subscribed")
    found = addresses()
    expect('"127.0.0.3' in found and "203.0.113.9" not in found, f"the client's address is not in {found[:500]}")
    # Ticks come at once: more than two in a second are not collected in a buffer.
    began = time.monotonic()
    for _ in range(5):
        stream.message("update")
    took = time.monotonic() - began
    expect(took < 5, f"five ticks took {took:.1f} s")
    return stream


def nginx(binary, folder):
    tool = program("nginx")
    chain, key, tls = certificate(folder)
    port = free_port()
    upstream, addresses = before_proxy(binary, folder)
    text = shipped("proxies/nginx.conf")
    for old, new in (("listen 443 ", f"listen 127.0.0.1:{port} "), ("/etc/ssl/gateway.example/fullchain.pem", chain),
                     ("/etc/ssl/gateway.example/key.pem", key), ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
                     ("gateway.example", "localhost")):
        expect(old in text, f"the example has no {old}")
        text = text.replace(old, new)
    with open(os.path.join(folder, "tidegate.conf"), "w", encoding="utf-8") as file:
        file.write(text)
    main = os.path.join(folder, "nginx.conf")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(main, "w", encoding="utf-8") as file:
        file.write(f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
                   f"http {{\naccess_log off;\n{temporary}include {folder}/tidegate.conf;\n}}\n"
                   + ("user root;\n" if os.getuid() == 0 else ""))
    command = [tool, "-p", folder, "-e", "stderr", "-c", main]
    checked = subprocess.run(command + ["-t"], capture_output=True, text=True, check=False)
    version = subprocess.run([tool, "-v"], capture_output=True, text=True, check=False).stderr.split("/")[-1].split()[0]
    new = tuple(int(part) for part in version.split(".")[:3]) >= (1, 25, 1)
    warned = "warn" in checked.stderr and not (new and "http2" in checked.stderr)
    expect(checked.returncode == 0 and not warned, checked.stderr)
    proxy = Process(command, os.path.join(folder, "nginx.log"))
    until("nginx", lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
    stream = speaks(port, tls, chain, addresses, (("--http1.1", "1.1"), ("--http2", "2")))
    proxy.process.send_signal(signal.SIGHUP)
    time.sleep(1)
    for _ in range(5):
        stream.message("update")
    second = Stream(port, tls)
    second.message("update")
    stream.close()
    second.close()
    proxy.end()
    return f"nginx {version}: HTTP/1.1, HTTP/2 and streams; a reload ends no stream"


def caddy(binary, folder):
    tool = program("caddy")
    chain, key, tls = certificate(folder)
    port, admin = free_port(), free_port()
    upstream, addresses = before_proxy(binary, folder)
    version = subprocess.run([tool, "version"], capture_output=True, text=True, check=False).stdout.split()[0].lstrip("v")
    text = shipped("proxies/Caddyfile")
    keeps = tuple(int(part) for part in version.split(".")[:2]) >= (2, 7)
    if keeps:
        text = text.replace("# stream_close_delay", "stream_close_delay")
    for old, new in (("\ngateway.example {", f"\nhttps://localhost:{port} {{\n\ttls {chain} {key}"),
                     ("127.0.0.1:8080", f"127.0.0.1:{upstream}")):
        expect(old in text, f"the example has no {old.strip()}")
        text = text.replace(old, new)
    text = f"{{\n\tadmin 127.0.0.1:{admin}\n\tauto_https disable_redirects\n}}\n" + text
    path = os.path.join(folder, "Caddyfile")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    home = {"HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
    options = ["--config", path, "--adapter", "caddyfile"]
    checked = subprocess.run([tool, "validate", *options], env=os.environ | home, capture_output=True, text=True, check=False)
    expect(checked.returncode == 0, checked.stderr)
    proxy = Process([tool, "run", *options], os.path.join(folder, "caddy.log"), **home)
    until("Caddy", lambda: not socket.socket().connect_ex(("127.0.0.1", port)))
    stream = speaks(port, tls, chain, addresses, (("--http1.1", "1.1"), ("--http2", "2")))
    with open(path, "a", encoding="utf-8") as file:
        file.write("# changed\n")
    # Caddy does nothing for a configuration that is the same.
    subprocess.run([tool, "reload", "--force", *options], env=os.environ | home, capture_output=True, check=True, timeout=30)
    survived = True
    try:
        for _ in range(5):
            stream.message("update")
    except (Failure, OSError):
        survived = False
    expect(survived or not keeps, "the reload ended a stream in spite of stream_close_delay")
    second = Stream(port, tls)
    second.message("update")
    stream.close()
    second.close()
    proxy.end()
    word = "ends no stream" if survived else "ends streams, and clients come back at once"
    return f"Caddy {version}: HTTP/1.1, HTTP/2 and streams; a reload {word}"


# The image and the manifests


def container(binary, folder):
    text = shipped("container/Containerfile")
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        for source in line.split()[:-1]:
            expect(os.path.exists(os.path.join(ROOT, source)), f"COPY {source}: there is no such file")
    copied = dict(reversed(line.split()) for line in re.findall(r"^COPY (?!--from)(\S+ /\S+)$", text, re.M))
    command = json.loads(re.search(r"^CMD (\[.*\])$", text, re.M)[1])
    named = command[command.index("--config") + 1]
    expect(named in copied, f"the image lacks {named}, which its command reads")
    for word in ("VOLUME /var/lib/tidegate", "STOPSIGNAL SIGTERM", "STATE_DIRECTORY=/var/lib/tidegate"):
        expect(word in text, f"the image does not set {word}")
    path = os.path.join(ROOT, copied[named])
    quiet = {"TIDEGATE_LISTEN": f"127.0.0.1:{free_port()}", "TIDEGATE_INTERNAL_LISTEN": f"127.0.0.1:{free_port()}",
             "TIDEGATE_ENDPOINTS": "kraken=ws://127.0.0.1:9/v2", "TIDEGATE_DATA_DIRECTORY": "none"}
    checked = subprocess.run([binary, "check-config", path], capture_output=True, text=True, check=False)
    expect(checked.returncode == 0, checked.stdout[-500:] + checked.stderr)
    # "docker stop" sends STOPSIGNAL, and kills after 10 s.
    gateway = Process([binary, *command[:-1], path], os.path.join(folder, "gateway.log"), **quiet)
    until("the gateway", lambda: "/metrics" in gateway.text())
    stream = Stream(int(quiet["TIDEGATE_LISTEN"].split(":")[1]))
    stream.message("heartbeat")
    began = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    reader = threading.Thread(target=lambda: drained(stream), daemon=True)
    reader.start()
    code = gateway.process.wait(PATIENCE)
    took = time.monotonic() - began
    expect(code == 0 and took < 9.5, f"ended with {code} after {took:.1f} s; an engine kills after 10 s")
    linter = shutil.which("hadolint")
    if linter:
        # Versions of the distribution's packages move with its updates.
        linted = subprocess.run(
            [linter, "--ignore", "DL3008", os.path.join(ROOT, "Deploy/container/Containerfile")], capture_output=True,
            text=True, check=False)
        expect(linted.returncode == 0, linted.stdout + linted.stderr)
    return f"the image has its configuration, which drains in {took:.1f} s of 10" + (
        "; hadolint finds nothing" if linter else "; hadolint is not available")


def drained(stream):
    try:
        while True:
            stream.fill()
    except (Failure, OSError):
        stream.close()


def kubernetes(binary, folder):
    try:
        import kubernetes_validate
        import yaml
    except ImportError as error:
        raise Missing(f"{error.name} is not available") from None
    documents = list(yaml.safe_load_all(shipped("kubernetes/tidegate.yaml")))
    stated = re.search(r"schemas of Kubernetes (\d+)\.(\d+) to \d+\.(\d+)", shipped("kubernetes/tidegate.yaml"))
    versions = [f"{stated[1]}.{minor}" for minor in range(int(stated[2]), int(stated[3]) + 1)]
    for version in versions:
        for document in documents:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                raise Failure(f"{version}, {document['kind']}: {error.message} at {list(error.path)}") from None
    kinds = {document["kind"]: document for document in documents}
    pod = kinds["StatefulSet"]["spec"]["template"]["spec"]
    main = pod["containers"][0]
    for probe in ("startupProbe", "livenessProbe"):
        expect(main[probe]["httpGet"]["path"] == "/livez", f"the {probe} would kill a pod because an exchange is down")
    mounts = {mount["name"]: mount["mountPath"] for mount in main["volumeMounts"]}
    expect(mounts["data"] == "/var/lib/tidegate", f"the data is on no volume: {mounts}")
    claims = [claim["metadata"]["name"] for claim in kinds["StatefulSet"]["spec"]["volumeClaimTemplates"]]
    expect(claims == ["data"], f"the volumes that outlive a pod are {claims}")
    ports = {port["name"]: port["containerPort"] for port in main["ports"]}
    open_ports = [port["port"] for rule in kinds["NetworkPolicy"]["spec"]["ingress"] if "from" not in rule for port in rule["ports"]]
    expect(open_ports == ["clients"], f"everybody reaches {open_ports}")
    path = os.path.join(folder, "tidegate.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(kinds["ConfigMap"]["data"]["tidegate.yaml"])
    checked = subprocess.run([binary, "check-config", path], capture_output=True, text=True, check=False)
    expect(checked.returncode == 0, checked.stdout[-500:] + checked.stderr)
    settings = yaml.safe_load(kinds["ConfigMap"]["data"]["tidegate.yaml"])
    for name, key in (("clients", "listen"), ("internal", "internal-listen")):
        expect(settings[key].endswith(f":{ports[name]}"), f"{key} is {settings[key]}, not port {ports[name]}")
    pause = int(main["lifecycle"]["preStop"]["exec"]["command"][1])
    grace, drain = pod["terminationGracePeriodSeconds"], settings["drain"]["seconds"]
    expect(grace > pause + drain + 5, f"{grace} s of grace are too few for {pause} s and {drain} s")
    # While its exchange is down, a pod lives and is not ready.
    quiet = {"TIDEGATE_LISTEN": "127.0.0.1:0", "TIDEGATE_INTERNAL_LISTEN": f"127.0.0.1:{free_port()}",
             "TIDEGATE_ENDPOINTS": "kraken=ws://127.0.0.1:9/v2"}
    gateway = Process([binary, "serve", "--config", path], os.path.join(folder, "gateway.log"), **quiet)
    until("the gateway", lambda: "/metrics" in gateway.text())
    answers = [status(quiet["TIDEGATE_INTERNAL_LISTEN"], path) for path in ("/livez", "/readyz")]
    expect(answers == [200, 503], f"/livez and /readyz answer {answers} while the exchange is down")
    return f"{len(documents)} documents fit the schemas of {versions[0]} to {versions[-1]}; an outage kills no pod"


def status(address, path):
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


# A crash


def libc_base(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if re.search(r"/libc[.-]", line))


def fault(pid):
    """Plants an illegal instruction where the event loops wait. A signal alone is no crash: Swift's handler returns
    from it, and the process goes on."""
    instruction = {"x86_64": b"\x0f\x0b", "aarch64": bytes(4)}.get(platform.machine())
    if not instruction:
        raise Missing(f"no illegal instruction of {platform.machine()} is known")
    here = ctypes.cast(ctypes.CDLL(None).epoll_wait, ctypes.c_void_p).value - libc_base("self")
    try:
        with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
            memory.seek(libc_base(pid) + here)
            memory.write(instruction)
    except OSError as error:
        raise Missing(f"another process's memory cannot be written: {error}") from None


def crash_settings():
    """What each way to run a gateway sets for Swift's backtracer."""
    ways = {
        "systemd": re.search(r"^Environment=SWIFT_BACKTRACE=(\S+)$", shipped("systemd/tidegate.service"), re.M),
        "container": re.search(r"\bSWIFT_BACKTRACE=(\S+)", shipped("container/Containerfile")),
        "Kubernetes": re.search(r"SWIFT_BACKTRACE, value: ([^}]+)\}", shipped("kubernetes/tidegate.yaml")),
        "run.sh": re.search(r'^export SWIFT_BACKTRACE="\$\{SWIFT_BACKTRACE:-(\S+)\}"$', shipped("run.sh"), re.M),
    }
    for way, found in ways.items():
        expect(found, f"{way} leaves the backtracer as it is, which keeps the ports of a crashed process")
    return {way: found[1] for way, found in ways.items()}


def crash(binary, folder):
    told = []
    settings = crash_settings()
    for number, value in enumerate(dict.fromkeys(settings.values())):
        # In a terminal, where the backtracer would wait for a key.
        ours, theirs = pty.openpty()
        shown = []

        def read():
            try:
                while part := os.read(ours, 1 << 16):
                    shown.append(part)
            except OSError:
                pass

        threading.Thread(target=read, daemon=True).start()
        ports = free_port(), free_port()
        command = [binary, "serve", "--demo", "--rate", "5", "--loops", "1", "--listen", f"127.0.0.1:{ports[0]}",
                   "--internal-listen", f"127.0.0.1:{ports[1]}"]
        first = Process(command, os.path.join(folder, f"crash{number}.log"), terminal=theirs, SWIFT_BACKTRACE=value)
        os.close(theirs)
        until("a live market", lambda: b"feed live" in b"".join(shown))
        began = time.monotonic()
        fault(first.process.pid)

        until("the port of the crashed process", lambda: can_bind(ports[0]))
        took = time.monotonic() - began
        code = first.process.wait(PATIENCE)
        expect(code == -signal.SIGILL, f"the process ended with {code}, and not by the fault")
        expect(took < 10, f"SWIFT_BACKTRACE={value}: the ports were kept for {took:.1f} s")
        stack = b"epoll_wait" in b"".join(shown)
        expect(stack == ("enable=yes" in value), f"SWIFT_BACKTRACE={value}: the stack was {'' if stack else 'not '}shown")
        second = Process(command, os.path.join(folder, f"again{number}.log"), SWIFT_BACKTRACE=value)
        until("the next process", lambda: "/metrics" in second.text())
        second.end()
        ways = ", ".join(way for way, each in settings.items() if each == value)
        told.append(f"{ways}: ports free after {took:.2f} s" + (", with the stack" if stack else ""))
    return "; ".join(told)


def can_bind(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


CHECKS = {"crash": crash, "nginx": nginx, "caddy": caddy, "container": container, "kubernetes": kubernetes}
if __name__ == "__main__":
    os.environ["PATH"] += ":/usr/sbin:" + ":".join(sys.argv[3:])
    with tempfile.TemporaryDirectory(prefix="tidegate-deploy-") as directory:
        try:
            print("  " + CHECKS[sys.argv[1]](os.path.abspath(sys.argv[2]), directory))
        except Missing as reason:
            print(f"  {reason}")
            sys.exit(77)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            print(f"  {failure}" if isinstance(failure, Failure) else f"  {failure!r}")
            for process in Process.all:
                print(f"  the end of {os.path.basename(process.log)}:", *process.text().splitlines()[-8:], sep="\n    ")
            sys.exit(1)
        finally:
            Process.end_all()
