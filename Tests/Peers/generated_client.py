#!/usr/bin/env python3
"""Generates a client from a gateway's /openapi.json with openapi-python-client, and uses each of its operations.

    generated_client.py TIDEGATE TOOLS      (the built executable; the folder of openapi-python-client)

It checks the document, the generated code, and the answers:

- The generator reads the whole document without a warning, and makes no member of any type.
- Every `GET` that the document names is called through the generated code. Its answer is parsed into the generated
  type; that type names every member of the answer, and writes the same JSON again. An `ETag` is there exactly where
  the document promises one, and the same request with it gets 304.
- Alerts, webhooks, portfolios and their transactions are created, read, changed and deleted, with keys and conditions.
- The first event of /v1/events has `retry`; quotes and rates have the ages of their feeds.

Exits with 1 if one of these checks fails.
"""

import enum
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import typing
import urllib.error
import urllib.request

from processes import free_port, tail

# Pictures and lines of JSON are texts to the generator.
CONFIG = {"content_type_overrides": {"image/svg+xml": "text/plain", "application/x-ndjson": "text/plain"}}
MARKET, COMPOSITE = "kraken:BTC-USD", "composite:BTC-USD"
PATIENCE = 60  # Only a hang takes this long.


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def snake(name):
    """The generator's name of a module."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Gateway:
    """A demo with alerts, portfolios, webhooks, a deck and a topic."""

    def __init__(self, binary, folder):
        self.log = os.path.join(folder, "gateway.log")
        self.port, self.internal = free_port(), free_port()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--demo", "--rate", "5", "--listen", f"127.0.0.1:{self.port}",
                 "--internal-listen", f"127.0.0.1:{self.internal}"],
                env={**os.environ, "TIDEGATE_DATA_DIRECTORY": "none"}, stdout=log, stderr=log)
        self.url = f"http://127.0.0.1:{self.port}"
        # Quotes, trades, lines, candles and the books of a composite, and the rates between them.
        for path in [
            f"/v1/snapshot?symbols={MARKET}", f"/v1/trades/{MARKET}", f"/v1/sparklines/{MARKET}",
            f"/v1/candles/{COMPOSITE}", f"/v1/books/{COMPOSITE}", f"/v1/quotes/{COMPOSITE}",
            "/v1/rates?base=BTC&quote=USD",
        ]:
            self.wait(path)
        self.publish("risk-state", {"state": "NORMAL", "symbol": MARKET})

    def wait(self, path):
        end = time.monotonic() + PATIENCE
        while True:
            expect(self.process.poll() is None, f"the gateway ended{tail(self.log)}")
            try:
                with urllib.request.urlopen(self.url + path, timeout=5) as answer:
                    return answer.read()
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                expect(time.monotonic() < end, f"{path}: {error}{tail(self.log)}")
                time.sleep(0.2)

    def publish(self, topic, document):
        with open(self.log, encoding="utf-8") as log:
            token = re.search(r"the demo's token is ([0-9a-f]+)", log.read()).group(1)
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.internal}/v1/topics/{topic}", json.dumps(document).encode(), method="POST",
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            expect(answer.status == 201, f"a document cannot be published: {answer.status}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def generate(document, tools, folder):
    """Generates the package; the generator's warnings are failures."""
    source, config = os.path.join(folder, "openapi.json"), os.path.join(folder, "config.json")
    with open(source, "wb") as file:
        file.write(document)
    with open(config, "w", encoding="utf-8") as file:
        json.dump({**CONFIG, "post_hooks": []}, file)
    result = subprocess.run(
        [os.path.join(tools, "openapi-python-client"), "generate", "--path", source, "--config", config,
         "--meta", "none", "--output-path", os.path.join(folder, "generated"), "--fail-on-warning"],
        capture_output=True, text=True, check=False)
    expect(result.returncode == 0, f"the generator is not satisfied:\n{result.stdout}{result.stderr}")
    sys.path.insert(0, folder)
    return importlib.import_module("generated")


def has_any(hint):
    return hint is typing.Any or any(has_any(part) for part in typing.get_args(hint))


def check_types():
    """No member of a generated type is anything, and no name tells that the generator had to make one up."""
    models = importlib.import_module("generated.models")
    for name in models.__all__:
        expect(not re.search(r"Type\d", name), f"{name}: a type without a name in the document")
        model = getattr(models, name)
        if isinstance(model, type) and issubclass(model, enum.Enum):
            continue
        # Names that are imported for type checkers alone.
        names = {**vars(models), **vars(sys.modules["generated.types"])}
        hints = typing.get_type_hints(model, {**vars(sys.modules[model.__module__]), **names})
        for member, hint in hints.items():
            expect(member == "additional_properties" or not has_any(hint), f"{name}.{member} is of any type")
    return len(models.__all__)


def unnamed(value, place="$"):
    """The members of an answer that its type does not name."""
    found = []
    if hasattr(value, "additional_properties") and "__attrs_attrs__" in dir(value):
        members = [each.name for each in value.__attrs_attrs__ if each.name != "additional_properties"]
        # A map, or a document of somebody else, has no members of its own.
        if members:
            found += [f"{place}.{name}" for name in value.additional_properties]
        for name in members:
            found += unnamed(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list):
        for index, element in enumerate(value):
            found += unnamed(element, f"{place}[{index}]")
    return found


class Client:
    """The generated code, by the operations of the document."""

    def __init__(self, document, url):
        self.paths = document["paths"]
        self.models = importlib.import_module("generated.models")
        generated = importlib.import_module("generated")
        self.http = generated.Client(base_url=url, timeout=10, raise_on_unexpected_status=True)
        self.operations = {
            operation["operationId"]: operation
            for path in self.paths.values() for operation in path.values()
        }

    def module(self, name):
        return importlib.import_module(f"generated.api.{self.operations[name]['tags'][0]}.{snake(name)}")

    def request(self, name, /, *arguments, **parameters):
        """Calls an operation, again if it comes too soon after others."""
        while True:
            response = self.module(name).sync_detailed(*arguments, client=self.http, **parameters)
            if response.status_code != 429:
                return response
            time.sleep(int(response.headers["retry-after"]))

    def call(self, name, /, *arguments, status=200, **parameters):
        """Calls an operation; returns the parsed answer."""
        response = self.request(name, *arguments, **parameters)
        text = response.content.decode(errors="replace")[:400]
        expect(response.status_code == status, f"{name}: {int(response.status_code)} instead of {status}: {text}")
        documented = self.operations[name]["responses"].get(str(status))
        expect(documented is not None, f"{name}: the document has no {status}")
        promised = "ETag" in documented.get("headers", {})
        expect(("etag" in response.headers) == promised, f"{name}: ETag, promised: {promised}")
        schema = documented.get("content", {}).get("application/json", {}).get("schema", {})
        if response.content and "$ref" in schema:
            kind = schema["$ref"].rsplit("/", 1)[1]
            expect(type(response.parsed).__name__ == kind, f"{name}: {type(response.parsed)} instead of {kind}")
            missing = unnamed(response.parsed)
            expect(not missing, f"{name}: members without a type: {', '.join(missing)}")
            expect(response.parsed.to_dict() == json.loads(response.content), f"{name}: another JSON than it read")
        return response

    def again(self, name, answer, /, **parameters):
        """The same request of a client that has an answer."""
        return self.request(name, **parameters, if_none_match=answer.headers["etag"])


# What to call each operation with, beside what `values` has by name; an operation may be called several times.
CALLS = {
    "getAssets": [{}, {"limit": 1, "q": "b"}],
    "getInstruments": [{}, {"venue": "kraken"}, {"q": "zcash"}],
    "getSnapshot": [{"symbols": f"{MARKET},coinbase:ETH-USD,kraken:NO-USD", "points": 4}],
    "getQuote": [{"symbol": MARKET}, {"symbol": MARKET, "depth": 2}, {"symbol": COMPOSITE, "depth": 2}],
    "getBook": [{"symbol": MARKET, "depth": 3}, {"symbol": COMPOSITE}, {"symbol": COMPOSITE, "venues": True}],
    "getSparkline": [{"symbol": MARKET}, {"symbol": COMPOSITE, "points": 5}],
    "getLinePicture": [{"symbol": MARKET}, {"symbol": COMPOSITE}],
    "getCard": [{"symbol": MARKET}, {"symbol": COMPOSITE}],
    "getCandles": [{"symbol": MARKET}, {"symbol": COMPOSITE, "limit": 3}],
    "getRates": [{"base": "BTC", "quote": "USD"}, {"base": "ZEC", "quote": "BTC"}],
    "getTopic": [{"name": "risk-state"}, {"name": "risk-state", "after": 0, "limit": 5}],
    "getTopics": [{}, {"symbol": MARKET}],
    "getDeck": [{"name": "calm"}, {"name": "calm", "zone": "Europe/Berlin"}],
    "getDeckCard": [{"name": "calm"}],
}

# What a demo has not: it records nothing, and its markets are spot markets.
REFUSED = {
    "getReplay": ({"streams": f"trades:{MARKET}", "from_": 1}, "not_recorded"),
    "getDerivative": ({"symbol": MARKET}, "unknown_symbol"),
    "getFunding": ({"symbol": MARKET}, "unknown_symbol"),
}


def enumerated(client, name):
    """Each choice of each parameter, once: the generated types have every word that the gateway knows."""
    signature = inspect.signature(client.module(name).sync_detailed)
    for parameter in signature.parameters.values():
        for kind in vars(client.models).values():
            if isinstance(kind, type) and issubclass(kind, enum.Enum) and kind.__name__ in str(parameter.annotation):
                yield from ({parameter.name: choice} for choice in kind)


def call_all(client, ids):
    """Every GET of the document."""
    calls = 0
    for path, operations in client.paths.items():
        if "get" not in operations:
            continue
        name = operations["get"]["operationId"]
        if name in ("getStream", "getEvents"):
            continue
        if name in REFUSED:
            parameters, code = REFUSED[name]
            refused = client.call(name, status=404, **parameters).parsed
            expect(refused.code == code, f"{name}: {refused.code} instead of {code}")
            calls += 1
            continue
        required = [each["name"] for each in operations["get"]["parameters"] if each["required"]]
        values = {"symbol": MARKET, "id": ids.get(path.split("/")[2] if path.count("/") > 1 else ""), "number": "1"}
        variants = CALLS.get(name, [{}])
        variants = variants + [{**variants[0], **choice} for choice in enumerated(client, name)]
        for variant in variants:
            parameters = {**{each: values[each] for each in required if each in values}, **variant}
            missing = [each for each in required if each not in parameters]
            expect(not missing, f"{name}: no value for {', '.join(missing)}; give one in CALLS")
            answer = client.call(name, **parameters)
            calls += 1
            expect(answer.parsed is not None, f"{name}: the answer is not parsed")
            if "304" in operations["get"]["responses"] and "etag" in answer.headers:
                again = client.again(name, answer, **parameters)
                # Prices may have moved in between.
                expect(again.status_code in (200, 304), f"{name}: {int(again.status_code)} for If-None-Match")
                calls += 1
    return calls


def check_alerts(client):
    models = client.models
    condition = models.AlertCondition(
        type_=models.AlertKind.PRICE, symbol=MARKET, is_=models.AlertComparison.ABOVE, value="1000000")
    rule = models.AlertRule(condition=condition, frequency=models.AlertFrequency.ONCE)
    form = models.AlertForm(name="high", rule=rule)
    made = client.call("postAlerts", body=form, idempotency_key="a1", status=201).parsed
    again = client.call("postAlerts", body=form, idempotency_key="a1").parsed
    expect(again.id == made.id and made.state == models.AlertState.RUNNING, f"a repeated request made {again.id}")
    changed = client.call("patchAlert", made.id, body=models.AlertChange(name="higher")).parsed
    expect(changed.name == "higher" and changed.rule.condition.value == "1000000", f"a change made {changed}")
    late = client.call("putAlert", made.id, body=form, if_match=f"\"{made.revision}\"", status=412).parsed
    expect(late.code == "changed", f"a late change got {late.code}")
    for action, body, state in [
        ("pause", None, "paused"), ("resume", None, "running"), ("disable", None, "disabled"),
        ("enable", None, "running"), ("ack", models.AlertAction(through=1), "running"),
    ]:
        given = {} if body is None else {"body": body}
        answer = client.call("postAlertAction", made.id, action, **given).parsed
        expect(answer.state.value == state, f"{action} left the alert {answer.state}")
    hours = models.AlertHours(days=[models.Weekday.MON], from_="08:00", until="18:00")
    often = models.AlertRule(
        condition=models.AlertCondition(type_=models.AlertKind.ANY, of=[
            models.AlertCondition(
                type_=models.AlertKind.SPREAD, symbol=MARKET, is_=models.AlertComparison.ABOVE, percent="0.5"),
            models.AlertCondition(type_=models.AlertKind.STALE, symbol=MARKET, part=models.AlertPart.BOOK, for_s=60),
        ]),
        frequency=models.AlertCooldown(every_s=600), hours=hours, time_zone="Europe/Berlin")
    put = client.call("putAlert", made.id, body=models.AlertForm(name="wide", rule=often)).parsed
    expect(put.rule.frequency.every_s == 600 and put.rule.hours.from_ == "08:00", f"a replacement made {put}")
    expect([each.id for each in client.call("getAlerts").parsed.alerts] == [made.id], "the list has other alerts")
    wrong = client.call("postAlerts", body=models.AlertForm(name="x", rule=models.AlertRule(
        condition=models.AlertCondition(type_=models.AlertKind.PRICE))), status=422).parsed
    expect(wrong.code == "invalid_alert" and wrong.message, f"a wrong rule got {wrong}")
    return made.id


def check_portfolios(client):
    models = client.models
    position = models.Position(symbol=MARKET, side=models.PositionSide.LONG, size="1", entry="9000", leverage="2")
    form = models.PortfolioForm(name="p", currency="USD", method=models.CostMethod.FIFO, positions=[position])
    made = client.call("postPortfolios", body=form, idempotency_key="p1", status=201).parsed
    expect(client.call("postPortfolios", body=form, idempotency_key="p1").parsed.id == made.id, "made twice")
    changed = client.call("patchPortfolio", made.id, body=models.PortfolioChange(name="q")).parsed
    expect(changed.name == "q" and changed.positions[0].entry == "9000", f"a change made {changed}")
    replaced = client.call("putPortfolio", made.id, body=models.PortfolioForm(name="r", currency="EUR")).parsed
    expect(replaced.currency == "EUR" and not replaced.positions, f"a replacement made {replaced}")
    client.call("putPortfolio", made.id, body=form)
    buy = models.TransactionForm(
        kind=models.TransactionKind.BUY, asset="BTC", quantity="0.5", price="40000", fee="10")
    bought = client.call("postPortfolioTransactions", made.id, body=buy, idempotency_key="t1", status=201).parsed
    expect(bought.number == 1 and bought.quantity == "0.5", f"a purchase made {bought}")
    buy.quantity = "0.25"
    expect(client.call("putPortfolioTransaction", made.id, "1", body=buy).parsed.quantity == "0.25", "not replaced")
    sale = models.TransactionForm(kind=models.TransactionKind.SELL, asset="BTC", quantity="0.1", price="50000")
    sold = client.call("postPortfolioTransactions", made.id, body=sale, status=201).parsed
    client.call("deletePortfolioTransaction", made.id, str(sold.number), status=204)
    page = client.call("getPortfolioTransactions", made.id, limit=1).parsed
    expect([each.number for each in page.transactions] == [1], f"a page has {page}")
    value = client.call("getPortfolioValue", made.id, currency="USD").parsed
    expect(value.holdings[0].quantity == "0.25" and value.state == models.PriceState.LIVE, f"a value is {value}")
    expect(float(value.value) > 0 and value.positions[0].side == models.PositionSide.LONG, f"a value is {value}")
    return made.id


def check_webhooks(client):
    models = client.models
    made = client.call("postWebhooks", body=models.WebhookForm(url="https://push.example.com/x"), status=201).parsed
    expect(made.secret and not made.dead, f"a webhook has {made}")
    read = client.call("getWebhook", made.id).parsed
    expect(not read.secret and read.url == made.url, f"a webhook has {read}")
    wrong = client.call("postWebhooks", body=models.WebhookForm(url="ftp://x"), status=422).parsed
    expect(wrong.code == "invalid_webhook", f"a wrong URL got {wrong.code}")
    return made.id


def check_events(client):
    """The first event, with the time after which a client comes back."""
    arguments = client.module("getEvents")._get_kwargs(streams=f"pulse:{MARKET}")
    with client.http.get_httpx_client().stream(**arguments) as answer:
        expect(answer.status_code == 200, f"events: {answer.status_code}")
        event = []
        for line in answer.iter_lines():
            if not line:
                break
            event.append(line)
    is_first = event[:1] == ["retry: 2000"] and event[1].startswith('data: {"type":"welcome"')
    expect(is_first, f"the first event is {event}")


def check_stream(client):
    answer = client.call("getStream", status=426)
    expect(answer.parsed.code == "upgrade_required", f"the stream without an upgrade: {answer.parsed}")


def check_ages(client):
    """Quotes and rates: a strong tag that stays while nothing changes, and the age of each feed in every answer."""
    for name, parameters in [
        ("getQuote", {"symbol": MARKET}), ("getQuote", {"symbol": COMPOSITE}),
        ("getRates", {"base": "BTC", "quote": "USD"}),
    ]:
        unchanged = 0
        for _ in range(200):
            answer = client.call(name, **parameters)
            again = client.again(name, answer, **parameters)
            for each in (answer, again):
                ages = each.headers.get("tidegate-feeds", "")
                expect(re.search(r"(kraken|coinbase)=live;age_ms=\d+;simulated", ages), f"{name}: the ages are {ages!r}")
            expect(not answer.headers["etag"].startswith("W/"), f"{name}: a weak tag")
            unchanged += again.status_code == 304
            if unchanged:
                break
        expect(unchanged, f"{name}: never 304")


def check_gone(client, ids):
    """Deletes everything; what is gone is 404, as the document says."""
    for name, owned in [("Portfolio", "portfolios"), ("Alert", "alerts"), ("Webhook", "webhooks")]:
        client.call(f"delete{name}", ids[owned], status=204)
        gone = client.call(f"get{name}", ids[owned], status=404).parsed
        expect(gone.code == f"unknown_{name.lower()}", f"a deleted {name} is {gone.code}")


def main():
    binary, tools = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if not os.path.exists(os.path.join(tools, "openapi-python-client")):
        print("  openapi-python-client is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(binary, folder)
        try:
            text = gateway.wait("/openapi.json")
            generate(text, tools, folder)
            types = check_types()
            client = Client(json.loads(text), gateway.url)
            ids = {
                "alerts": check_alerts(client), "portfolios": check_portfolios(client),
                "webhooks": check_webhooks(client),
            }
            calls = call_all(client, ids)
            check_events(client)
            check_stream(client)
            check_ages(client)
            check_gone(client, ids)
        except Failure as failure:
            print(f"  {failure}")
            print(f"  the gateway's log ends with:{tail(gateway.log, 8)}")
            return 1
        finally:
            gateway.stop()
    print(f"  {types} types; {calls} reading calls; alerts, portfolios and webhooks made, changed and deleted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
