"""The gateway's NATS code and nats-py, through Debian's nats-server: in the clear, and with TLS and an nkey.

nats_client.py TRIAL NATS-SERVER
TRIAL is the executable nats-trial. Each side sends what the other reads: messages, headers, requests and answers.
"""
import asyncio, json, os, pathlib, ssl, subprocess, sys, tempfile
import nats
from nats.errors import NoRespondersError

trial_path, server_path = sys.argv[1:3]
SEED = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
PUBLIC = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=peers", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
         "-out", folder / "cert.pem"], check=True, capture_output=True)


async def started(folder, secure):
    (folder / "seed").write_text(SEED + "\n")
    lines = ['listen: "127.0.0.1:-1"', f'ports_file_dir: "{folder}"', f'jetstream {{ store_dir: "{folder}/js" }}']
    if secure:
        certificate(folder)
        lines.append(f'tls {{ cert_file: "{folder}/cert.pem", key_file: "{folder}/key.pem" }}')
        lines.append(f"authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}")
    (folder / "nats.conf").write_text("\n".join(lines) + "\n")
    server = subprocess.Popen([server_path, "-c", folder / "nats.conf", "-l", folder / "log"])
    ports = folder / f"nats-server_{server.pid}.ports"
    for _ in range(1000):
        if ports.exists() and ports.read_text().strip().endswith("}"):
            url = json.loads(ports.read_text())["nats"][0]
            return server, url.split("://")[1]
        await asyncio.sleep(0.02)
    server.kill()
    raise SystemExit("nats-server did not start: " + (folder / "log").read_text())


async def check(secure):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, address = await started(folder, secure)
        arguments = [f"{'tls' if secure else 'nats'}://{address}"]
        options = {}
        if secure:
            arguments += [str(folder / "cert.pem"), str(folder / "seed")]
            options = {"tls": ssl.create_default_context(cafile=str(folder / "cert.pem")),
                       "nkeys_seed": str(folder / "seed")}
        trial = await asyncio.create_subprocess_exec(
            trial_path, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        try:
            ready = await asyncio.wait_for(trial.stdout.readline(), 30)
            assert ready == b"ready\n", ready
            client = await nats.connect(f"{'tls' if secure else 'nats'}://{address}", **options)
            await exchange(client)
            await client.close()
            print("ok", "TLS and nkey" if secure else "in the clear")
        finally:
            trial.stdin.close()
            await asyncio.wait_for(trial.wait(), 10)
            server.kill()
            server.wait()


async def exchange(client):
    # A request of nats-py, answered by the trial, with headers in both directions; the trial may still subscribe.
    for attempt in range(100):
        try:
            answer = await client.request("trial.echo", b"hello\r\nPING\r\n", headers={"A": "1", "B": "two words"})
            break
        except NoRespondersError:
            assert attempt < 99
            await asyncio.sleep(0.05)
    assert answer.data == b"hello\r\nPING\r\n", answer.data
    assert answer.headers == {"A": "1", "B": "two words"}, answer.headers
    assert (await client.request("trial.echo", b"")).data == b""
    large = os.urandom(900_000)
    assert (await client.request("trial.echo", large, timeout=10)).data == large
    # Many messages of the trial, with headers, in order.
    burst = await client.subscribe("burst.*")
    await client.flush()
    await client.publish("trial.burst", b"2000")
    for index in range(2000):
        message = await burst.next_msg(timeout=10)
        assert (message.subject, message.data) == (f"burst.{index}", f"message {index}".encode()), message
        assert message.headers == {"Number": str(index)}, message.headers
    # Requests of the trial: answered by nats-py, and by nobody.
    result = await client.subscribe("result")

    async def respond(message):
        assert message.data == b"question"
        await message.respond(b"42")

    await client.subscribe("ask", cb=respond)
    await client.flush()
    await client.publish("trial.request", b"ask")
    assert (await result.next_msg(timeout=10)).data == b"answer 42"
    await client.publish("trial.request", b"nobody")
    assert (await result.next_msg(timeout=10)).data == b"noResponders"


async def main():
    for secure in (False, True):
        await check(secure)


asyncio.run(main())
