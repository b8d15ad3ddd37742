"""A client of tidegate.v1.bin: decodes the test vectors, then what a gateway sends, and compares that with what
`tidegate decode` makes of the same messages.

    binary_client.py TIDEGATE URL
"""
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from websockets.asyncio.client import connect

VECTORS = Path(__file__).parent.parent / "Vectors"
sys.path.insert(0, str(VECTORS))
sys.dont_write_bytecode = True
import tidegate_binary  # noqa: E402

CHANNELS = ["trades", "quote", "book", "pulse", "ticker", "candles", "sparkline"]
GROUPS = ["quote", "pulse", "ticker", "sparkline"]
SYMBOLS = os.environ["PEER_SYMBOLS"].split(",")
SUBSCRIBE = {"op": "subscribe", "id": 1, "streams": [
    *({"channel": channel, "symbols": SYMBOLS, "interval_ms": 0} for channel in CHANNELS),
    *({"channel": channel, "symbols": SYMBOLS, "interval_ms": 100, "group": True} for channel in GROUPS)]}


def expect(condition, what):
    if not condition:
        sys.exit(what)


async def follow(url, capture):
    """The messages in order, as JSON has them; the capture gets them as they came."""
    streams, last, messages = {}, {}, []
    async with connect(url, subprotocols=["tidegate.v1.bin", "tidegate.v1.json"], max_size=16 << 20) as socket:
        expect(socket.subprotocol == "tidegate.v1.bin", "the subprotocol was not chosen")
        await socket.send(json.dumps(SUBSCRIBE))
        try:
            async with asyncio.timeout(float(os.environ["PEER_SECONDS"])):
                while True:
                    message = await socket.recv()
                    print(message if isinstance(message, str) else message.hex(), file=capture)
                    if isinstance(message, str):
                        message = json.loads(message)
                        for item in message.get("ok", []):
                            streams[item["stream"]] = tidegate_binary.Stream.of(item)
                    else:
                        message = tidegate_binary.decode(message, streams)
                        expect(message is not None, "a record of an unknown stream")
                        number = message["stream"]
                        if message["type"] == "update":
                            expect(message["prev"] == last[number], f"prev is not {last[number]}: {message}")
                        last[number] = message["seq"]
                    messages.append(message)
        except TimeoutError:
            pass
    return messages


def main():
    executable, url = sys.argv[1:]
    tidegate_binary.check(VECTORS / "binary.jsonl")
    with tempfile.NamedTemporaryFile("w+", suffix=".capture") as capture:
        messages = asyncio.run(follow(url, capture))
        capture.flush()
        decoded = subprocess.run(
            [executable, "decode", capture.name], check=True, capture_output=True, text=True).stdout.splitlines()
    expect([json.loads(line) for line in decoded] == messages, "`tidegate decode` prints something else")
    for channel in CHANNELS:
        for kind in ["snapshot", "update"] if channel in ["trades", "quote", "book", "pulse"] else ["snapshot"]:
            expect(any(m["type"] == kind and m["channel"] == channel for m in messages), f"no {kind} of {channel}")
    for channel in GROUPS:
        for kind in ["snapshot", "update"] if channel in ["quote", "pulse"] else ["snapshot"]:
            expect(any(m["type"] == kind and m["channel"] == channel and m.get("group") for m in messages),
                   f"no {kind} of a group of {channel}")
    print(f"{len(messages)} messages: equal")


main()
