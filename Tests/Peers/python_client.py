"""A client of tidegate.v1 with one of the libraries of PyPI.

Usage: python_client.py LIBRARY URL [CA]   LIBRARY: websockets aiohttp picows websocket-client curl_cffi
Exit 77 if the library is not installed.
"""

import asyncio
import ssl
import sys

from checker import HELLO, PATIENCE, SUBPROTOCOL, Checker, Failure, expect

library, url = sys.argv[1], sys.argv[2]
ca = sys.argv[3] if len(sys.argv) > 3 else None
context = ssl.create_default_context(cafile=ca) if ca else None
checker = Checker()


async def run_websockets():
    import websockets

    options = {"ssl": context} if context else {}
    async with websockets.connect(url, subprotocols=[SUBPROTOCOL], **options) as socket:
        expect(socket.subprotocol == SUBPROTOCOL, "the subprotocol was not chosen")
        await socket.send(HELLO)
        while checker.is_watching():
            reply = checker.take(await socket.recv())
            if reply:
                await socket.send(reply)
        deflate = "permessage-deflate" in (socket.response.headers.get("Sec-WebSocket-Extensions") or "")
    return websockets.__version__, deflate


async def run_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url, protocols=[SUBPROTOCOL], ssl=context or True, compress=15) as socket:
            expect(socket.protocol == SUBPROTOCOL, "the subprotocol was not chosen")
            await socket.send_str(HELLO)
            while checker.is_watching():
                message = await socket.receive()
                expect(message.type == aiohttp.WSMsgType.TEXT, f"{message}")
                reply = checker.take(message.data)
                if reply:
                    await socket.send_str(reply)
            deflate = bool(socket.compress)
            await socket.close()
            expect(socket.close_code == 1000, f"closed with {socket.close_code}")
    return aiohttp.__version__, deflate


async def run_picows():
    import importlib.metadata

    import picows

    class Listener(picows.WSListener):
        def __init__(self):
            self.failure = None
            self.text = b""

        def on_ws_connected(self, transport):
            transport.send(picows.WSMsgType.TEXT, HELLO.encode())

        def on_ws_frame(self, transport, frame):
            if frame.msg_type == picows.WSMsgType.PING:
                return transport.send_pong(frame.get_payload_as_bytes())
            if frame.msg_type not in (picows.WSMsgType.TEXT, picows.WSMsgType.CONTINUATION):
                return None
            self.text += frame.get_payload_as_bytes()
            if not frame.fin:
                return None
            try:
                reply = checker.take(self.text.decode())
            except Failure as failure:
                self.failure = failure
                return transport.disconnect()
            self.text = b""
            if reply:
                transport.send(picows.WSMsgType.TEXT, reply.encode())

    options = {"ssl_context": context} if context else {}
    transport, listener = await picows.ws_connect(
        Listener, url, extra_headers={"Sec-WebSocket-Protocol": SUBPROTOCOL}, **options
    )
    while checker.is_watching() and not listener.failure:
        await asyncio.sleep(0.1)
    if listener.failure:
        raise listener.failure
    transport.send_close(picows.WSCloseCode.OK)
    await asyncio.wait_for(transport.wait_disconnected(), 5)
    return importlib.metadata.version("picows"), False


def run_websocket_client():
    import websocket

    options = {"sslopt": {"ca_certs": ca}} if ca else {}
    socket = websocket.create_connection(url, subprotocols=[SUBPROTOCOL], timeout=PATIENCE, **options)
    expect(socket.getsubprotocol() == SUBPROTOCOL, "the subprotocol was not chosen")
    socket.send(HELLO)
    while checker.is_watching():
        reply = checker.take(socket.recv())
        if reply:
            socket.send(reply)
    socket.close()
    return websocket.__version__, False


def run_curl_cffi():
    import curl_cffi
    from curl_cffi import requests

    with requests.Session() as session:
        socket = session.ws_connect(
            url, headers={"Sec-WebSocket-Protocol": SUBPROTOCOL}, **({"verify": ca} if ca else {})
        )
        socket.send(HELLO.encode(), curl_cffi.CurlWsFlag.TEXT)
        while checker.is_watching():
            data, _ = socket.recv()
            reply = checker.take(data.decode())
            if reply:
                socket.send(reply.encode(), curl_cffi.CurlWsFlag.TEXT)
        socket.close()
    return f"{curl_cffi.__version__} ({curl_cffi.__curl_version__.split()[0]})", False


run = {
    "websockets": run_websockets,
    "aiohttp": run_aiohttp,
    "picows": run_picows,
    "websocket-client": run_websocket_client,
    "curl_cffi": run_curl_cffi,
}[library]
try:
    version, deflate = asyncio.run(run()) if asyncio.iscoroutinefunction(run) else run()
    expect(deflate or library not in ("websockets", "aiohttp"), "permessage-deflate was not agreed")
    print(f"  {version}{', permessage-deflate' if deflate else ''}: {checker.finish()}")
except ImportError as missing:
    print(f"  {missing}")
    sys.exit(77)
except Failure as failure:
    print(f"  {failure}")
    sys.exit(1)
