"""Sends signals to a running gateway, and checks what its clients see. Standard library only.

Usage: signals.py drain|stall|takeover|reload TIDEGATE     (the built executable; reload needs openssl)
"""

import base64
import json
import os
import re
import selectors
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


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def until(what, body):
    """Calls `body` until its answer is true, which it returns."""
    end = time.monotonic() + PATIENCE
    while not (answer := body()):
        expect(time.monotonic() < end, f"waited in vain for {what}")
        time.sleep(0.02)
    return answer


class Gateway:
    """A gateway with a simulated market, on ports that the system chooses."""

    def __init__(self, binary, folder, name="a", listen="127.0.0.1:0", **settings):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TIDEGATE_")}
        # Several run at once: none has a data file, which one gateway at a time can have.
        environment["TIDEGATE_DATA_DIRECTORY"] = "none"
        environment |= {f"TIDEGATE_{key.upper()}": str(value) for key, value in settings.items()}
        environment["TIDEGATE_NODE"] = name
        self.log = os.path.join(folder, name + ".log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--demo", "--rate", "5", "--loops", "2", "--listen", listen]
                + ["--internal-listen", "127.0.0.1:0"],
                env=environment, stdout=log, stderr=subprocess.STDOUT,
            )
        self.port = int(until("the client port", lambda: self.said(r"wss?://127\.0\.0\.1:(\d+)/v1/stream")))
        self.internal = int(until("the internal port", lambda: self.said(r"http://127\.0\.0\.1:(\d+)/metrics")))

    def said(self, pattern):
        expect(self.process.poll() is None, f"the gateway ended with {self.process.returncode}: {self.text()[-2000:]}")
        found = re.search(pattern, self.text())
        return found and (found[1] if found.groups() else found[0])

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def status(self, path):
        """The status of a GET on the internal port; None without an answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.internal}{path}", timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def send(self, number):
        self.process.send_signal(number)

    def end(self, seconds):
        """Waits at most `seconds` for its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"the gateway still runs after {seconds:.1f} s") from None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Client:
    """A WebSocket client with the necessary parts of RFC 6455."""

    def __init__(self, port, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /v1/stream HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self.fill()
        head, _, self.bytes = self.bytes.partition(b"\r\n\r\n")
        expect(head.startswith(b"HTTP/1.1 101 "), f"no upgrade: {head!r}")
        self.notice = None
        self.noticed_at = None
        # The close frame's code, 0 if the connection ended without one.
        self.closed = None
        self.closed_at = None
        self.cut = None

    def fill(self):
        received = self.socket.recv(1 << 16)
        expect(received, "the connection ended without a close frame")
        self.bytes += received

    def send(self, message):
        payload = json.dumps(message).encode()
        expect(len(payload) < 126, "too long for a short frame")
        self.socket.sendall(bytes([0x81, 0x80 | len(payload)]) + bytes(4) + payload)

    def frame(self):
        """The next whole frame of what has been read, or None."""
        if len(self.bytes) < 2:
            return None
        length, offset = self.bytes[1] & 0x7F, 2
        for code, form, size in ((126, ">H", 2), (127, ">Q", 8)):
            if length == code:
                if len(self.bytes) < 2 + size:
                    return None
                length, offset = struct.unpack(form, self.bytes[2 : 2 + size])[0], 2 + size
                break
        if len(self.bytes) < offset + length:
            return None
        opcode, payload = self.bytes[0] & 15, self.bytes[offset : offset + length]
        self.bytes = self.bytes[offset + length :]
        return opcode, payload

    def message(self, wanted):
        """Reads until a message of type `wanted` arrives, and returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            while (frame := self.frame()) is None:
                self.fill()
            if frame[0] == 1 and (message := json.loads(frame[1]))["type"] == wanted:
                return message
            expect(frame[0] != 8, f"closed: {frame[1]!r}")
        raise Failure(f"no {wanted} came")

    def take(self):
        """Reads what has arrived; stores the notice of the drain, and the close frame or the end without one."""
        try:
            self.fill()
        except (Failure, OSError) as error:
            self.closed, self.closed_at, self.cut = 0, time.monotonic(), str(error)
            return
        while self.closed is None and (frame := self.frame()) is not None:
            opcode, payload = frame
            if opcode == 1:
                message = json.loads(payload)
                if message["type"] == "notice" and message["code"] == "drain":
                    expect(self.notice is None, "told of the drain twice")
                    self.notice, self.noticed_at = message, time.monotonic()
            elif opcode == 8:
                self.closed, self.closed_at = struct.unpack(">H", payload[:2])[0], time.monotonic()
                try:
                    self.socket.sendall(bytes([0x88, 0x82]) + bytes(4) + payload[:2])
                except OSError as error:
                    self.cut = f"after its close frame: {error}"


def watch_drain(clients, seconds, start):
    """Reads from all until each has been closed. Returns how often this process could not run, for failures on a busy
    machine."""
    stalls, last = [], time.monotonic()
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        end = time.monotonic() + seconds + PATIENCE
        while selector.get_map():
            expect(time.monotonic() < end, f"{len(selector.get_map())} clients were not closed")
            for key, _ in selector.select(0.1):
                key.data.take()
                if key.data.closed is not None:
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if now - last > 0.5:
                stalls.append(f"{now - last:.1f} s at {last - start:.1f} s")
            last = now
    return stalls


def seen_by(clients, start, stalls):
    """What the clients saw of a drain, a line for each kind, for the output of a failure."""
    lines = []
    for client in sorted(clients, key=lambda client: client.closed_at or 0):
        told = f"told {client.notice['reconnect_in_ms']} ms at {client.noticed_at - start:.2f} s" if client.notice else "never told"
        ended = f"closed with {client.closed} at {client.closed_at - start:.2f} s" if client.closed_at else "still there"
        lines.append(f"  {told}, {ended}" + (f" ({client.cut})" if client.cut else ""))
    return "\n".join([f"seconds since the signal; this process stood still: {', '.join(stalls) or 'never over 0.5 s'}", *lines])


def check_drain(clients, seconds, start, stalls):
    try:
        return check_closes(clients, seconds, start)
    except Failure as failure:
        raise Failure(f"{failure}\n{seen_by(clients, start, stalls)}") from None


def check_closes(clients, seconds, start):
    told = sorted(client.notice["reconnect_in_ms"] if client.notice else -1 for client in clients)
    expect(told[0] >= 0, f"{sum(client.notice is None for client in clients)} clients were closed without a notice")
    others = [client for client in clients if client.closed != 4201]
    expect(not others, f"{len(others)} of {len(clients)} clients were not closed with 4201")
    for client in clients:
        expect(client.closed_at >= client.noticed_at, "closed before the notice")
        wait = client.notice["reconnect_in_ms"] / 1000
        expect(client.closed_at - start > wait - 0.25, f"told {wait} s, closed after {client.closed_at - start:.2f} s")
    # Each loop spreads its clients evenly over nine tenths of the time; there are two.
    span = 900 * seconds
    gaps = [after - before for before, after in zip([0] + told, told + [span])]
    expect(max(gaps) <= 4 * span / len(clients), f"not spread evenly: {told}")
    expect(told[-1] <= span + 100, f"told {told[-1]} ms of {seconds} s")
    last = max(client.closed_at for client in clients) - start
    expect(last <= seconds + 2, f"the last client was closed after {last:.1f} of {seconds} s")
    return last


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
        return False
    except ConnectionRefusedError:
        return True


def drain(binary, folder):
    """SIGTERM: no new clients; present ones get a notice, then they are closed one after the other; exit code 0."""
    seconds, count = 4, 40
    gateway = Gateway(binary, folder, drain_seconds=seconds, log_level="notice")
    try:
        clients = [Client(gateway.port) for _ in range(count)]
        for client in clients:
            client.send({"op": "hello", "id": 1, "heartbeat_s": 1})
            client.message("welcome")
        start = time.monotonic()
        gateway.send(signal.SIGTERM)
        until("the port to be closed", lambda: is_refused(gateway.port))
        expect(gateway.status("/livez") == 200, "/livez is not answered while draining")
        expect(gateway.status("/readyz") == 503, "/readyz does not say 503 while draining")
        stalls = watch_drain(clients, seconds, start)
        last = check_drain(clients, seconds, start, stalls)
        expect(is_refused(gateway.port), "a new client got in")
        code = gateway.end(start + seconds + 5 - time.monotonic())
        expect(code == 0, f"exit code {code}: {gateway.text()[-1000:]}")
        return f"{count} clients told and closed with 4201 over {last:.1f} of {seconds} s, exit code 0"
    finally:
        gateway.kill()


def stall(binary, folder):
    """A gateway that is suspended across the end of its drain: every client still gets its close frame; exit code 0."""
    seconds, count, told = 4, 40, []
    for stop in (1.5, 4):
        gateway = Gateway(binary, folder, f"stopped-{stop}", drain_seconds=seconds, log_level="notice")
        waiting = []
        timers = []
        try:
            clients = [Client(gateway.port) for _ in range(count)]
            for client in clients:
                client.send({"op": "hello", "id": 1, "heartbeat_s": 1})
                client.message("welcome")

            def halt():
                waiting.append(sum(client.closed is None for client in clients))
                gateway.send(signal.SIGSTOP)

            # It ends half a second after the planned end of the drain: the remaining closes happen at the stop.
            begin = seconds + 0.5 - stop
            timers = [threading.Timer(begin, halt), threading.Timer(begin + stop, gateway.send, [signal.SIGCONT])]
            start = time.monotonic()
            gateway.send(signal.SIGTERM)
            for timer in timers:
                timer.start()
            stalls = watch_drain(clients, seconds + stop, start)
            others = [client for client in clients if client.closed != 4201]
            expect(not others, f"{len(others)} of {count} clients were not closed with 4201, stopped for {stop} s\n"
                   + seen_by(clients, start, stalls))
            code = gateway.end(start + seconds + stop + 5 - time.monotonic())
            expect(code == 0, f"exit code {code}: {gateway.text()[-1000:]}")
            expect(waiting and waiting[0] > 0, "nobody was left when the gateway was stopped: the check saw nothing")
            told.append(f"{waiting[0]} of {count} across {stop} s")
        finally:
            for timer in timers:
                timer.cancel()
            gateway.send(signal.SIGCONT)
            gateway.kill()
    return f"stopped by SIGSTOP before the drain's end, every client was closed with 4201: {', '.join(told)}"


def ask(port):
    """One request on its own connection: whether it was answered, and by which process."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while received := connection.recv(1 << 16):
            answer += received
    return int(answer.split(b" ", 2)[1])


def takeover(binary, folder):
    """SIGTERM with reuse-port: another process has the port, and some process answers at any moment."""
    seconds, count = 3, 20
    settings = {"drain_seconds": seconds, "reuse_port": "true"}
    settings |= {f"limits_{limit}_per_second_per_address": 100_000 for limit in ("connections", "http_requests")}
    old = Gateway(binary, folder, **settings)
    new = None
    try:
        clients = [Client(old.port) for _ in range(count)]
        new = Gateway(binary, folder, "b", f"127.0.0.1:{old.port}", **settings)
        expect(new.port == old.port, f"another port: {new.port}")
        until("the new gateway to be ready", lambda: new.status("/readyz") == 200)
        statuses, ends = {}, threading.Event()

        def keep_asking():
            while not ends.is_set():
                try:
                    status = ask(old.port)
                except (OSError, IndexError) as error:
                    status = repr(error)
                statuses[status] = statuses.get(status, 0) + 1

        asker = threading.Thread(target=keep_asking)
        asker.start()
        start = time.monotonic()
        old.send(signal.SIGTERM)
        stalls = watch_drain(clients, seconds, start)
        check_drain(clients, seconds, start, stalls)
        code = old.end(start + seconds + 5 - time.monotonic())
        ends.set()
        asker.join()
        expect(code == 0, f"exit code {code}: {old.text()[-1000:]}")
        # A client that connected before the port closed may be told to come again.
        expect(set(statuses) <= {200, 503} and statuses.get(503, 0) <= 10, f"not everybody was answered: {statuses}")
        for _ in range(10):
            client = Client(new.port)
            client.send({"op": "hello", "id": 1})
            node = client.message("welcome")["node"]
            expect(node == "b", f"{node} answers")
        return f"{sum(statuses.values())} requests meanwhile, all answered; {count} clients sent over"
    finally:
        old.kill()
        if new:
            new.kill()


def make_certificate(folder, name):
    """Self-signed, as PEM files NAME.pem and NAME.key; its DER."""
    path = os.path.join(folder, name)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        + ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost", "-keyout", path + ".key", "-out", path + ".pem"],
        check=True, capture_output=True,
    )
    with open(path + ".pem", encoding="ascii") as file:
        return ssl.PEM_cert_to_DER_cert(file.read())


def reload(binary, folder):
    """SIGHUP: the files are read again; clients stay connected; unusable files change nothing."""

    def install(name):
        for kind in (".pem", ".key"):
            with open(os.path.join(folder, name + kind), "rb") as source:
                with open(os.path.join(folder, "used.tmp"), "wb") as target:
                    target.write(source.read())
            os.replace(os.path.join(folder, "used.tmp"), os.path.join(folder, "used" + kind))

    first, second = make_certificate(folder, "first"), make_certificate(folder, "second")
    install("first")
    gateway = Gateway(
        binary, folder, tls_certificate=os.path.join(folder, "used.pem"), tls_key=os.path.join(folder, "used.key")
    )
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE

    def shown():
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=10) as connection:
            with tls.wrap_socket(connection, server_hostname="localhost") as secured:
                return secured.getpeercert(binary_form=True)

    try:
        client = Client(gateway.port, tls)
        client.send({"op": "hello", "id": 1, "heartbeat_s": 1})
        client.message("welcome")
        expect(shown() == first, "not the certificate of the file")
        install("second")
        expect(shown() == first, "the file was read again without a signal")
        gateway.send(signal.SIGHUP)
        until("the new certificate", lambda: shown() == second)
        client.send({"op": "ping", "id": 2})
        client.message("pong")
        client.message("heartbeat")
        # A key that does not belong to the certificate: the gateway keeps the old pair, and logs why.
        make_certificate(folder, "third")
        os.replace(os.path.join(folder, "third.key"), os.path.join(folder, "used.key"))
        gateway.send(signal.SIGHUP)
        until("the log to say so", lambda: gateway.said(r"certificates not reloaded|nothing was changed"))
        expect(shown() == second, "a certificate without its key was taken")
        client.send({"op": "ping", "id": 3})
        client.message("pong")
        gateway.send(signal.SIGINT)
        code = gateway.end(20)
        expect(code == 0, f"exit code {code}: {gateway.text()[-1000:]}")
        return "new clients are shown the new certificate, who was there stays; one that cannot be used is not taken"
    finally:
        gateway.kill()


CHECKS = {"drain": drain, "stall": stall, "takeover": takeover, "reload": reload}
with tempfile.TemporaryDirectory(prefix="tidegate-") as directory:
    try:
        print("  " + CHECKS[sys.argv[1]](sys.argv[2], directory))
    except (Failure, OSError) as failure:
        print(f"  {failure}" if isinstance(failure, Failure) else f"  {failure!r}")
        for log in sorted(name for name in os.listdir(directory) if name.endswith(".log")):
            with open(os.path.join(directory, log), encoding="utf-8", errors="replace") as file:
                print(f"  the end of the log of gateway {log[:-4]}:", *file.read().splitlines()[-12:], sep="\n    ")
        sys.exit(1)
