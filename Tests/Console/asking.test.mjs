// Requests of the app: `ask` waits for the connection, and then for the answer, each as long as a reply may take.
import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "./world.mjs";

const PAUSE = { op: "alert", action: "pause", alert: "7" };

/** What becomes of a request. */
function asked(world, request = PAUSE) {
  const outcome = { state: "waiting" };
  world.client.ask(request).then(
    (answer) => Object.assign(outcome, { state: "answered", answer }), (error) => Object.assign(outcome, { state: "refused", error }));
  return outcome;
}

test("what is asked before the connection is sent after its welcome, in order, and answered", async () => {
  const world = new World();
  const first = asked(world), second = asked(world, { ...PAUSE, alert: "8" });
  await world.open();
  assert.deepEqual(world.requests("alert"), []);
  await world.welcome();
  assert.deepEqual(world.requests("alert").map(({ alert }) => alert), ["7", "8"]);
  const [{ id }, { id: other }] = world.requests("alert");
  await world.say({ type: "alert", id, alert: { id: "7" } });
  await world.say({ type: "error", id: other, code: "unknown_alert", message: "you have no alert 8", retry: false });
  assert.deepEqual(first.answer.alert, { id: "7" });
  assert.equal(second.error.code, "unknown_alert");
});

test("what waits longer for a connection than a reply may take is refused, and not sent later", async () => {
  const world = new World();
  const outcome = asked(world);
  await world.advance(9_900);
  assert.equal(outcome.state, "waiting");
  await world.advance(200);
  assert.equal(outcome.error.code, "not_connected");
  await world.openNext();
  await world.welcome();
  assert.deepEqual(world.requests("alert"), []);
});

test("a request waits through attempts that fail; one that was sent is refused when the connection ends", async () => {
  const world = new World();
  const outcome = asked(world);
  await world.advance(0);
  await world.close(1006);
  assert.equal(outcome.state, "waiting");
  await world.openNext();
  await world.welcome();
  assert.equal(world.requests("alert").length, 1);
  await world.close(1006);
  assert.equal(outcome.error.code, "not_connected");
  await world.openNext();
  await world.welcome();
  assert.deepEqual(world.requests("alert"), [], "it may have been done: it is never sent twice");
});

test("a request that the rate has not let out yet is sent on the next connection", async () => {
  const world = new World();
  await world.open();
  await world.welcome({ limits: { requests_per_s: 2 } });
  const outcomes = Array.from({ length: 30 }, (_, index) => asked(world, { ...PAUSE, alert: String(index) }));
  await world.advance(0);
  const sent = world.requests("alert").length;
  assert.ok(sent < 30, String(sent));
  await world.close(1006);
  assert.deepEqual(outcomes.map(({ state }) => state), [...Array(sent).fill("refused"), ...Array(30 - sent).fill("waiting")]);
  await world.openNext();
  await world.welcome();
  await world.advance(1_000);
  assert.deepEqual(world.requests("alert").map(({ alert }) => Number(alert)), Array.from({ length: 30 - sent }, (_, index) => sent + index));
});

test("at most 1,000 requests wait for a connection", async () => {
  const world = new World();
  const outcomes = Array.from({ length: 1_001 }, () => asked(world));
  await world.settle();
  assert.equal(outcomes.filter(({ state }) => state === "refused").length, 1);
  assert.equal(outcomes.at(-1).error.code, "not_connected");
});

test("a client that is closed, or has ended, refuses what waits and what comes, with the reason", async () => {
  const closed = new World();
  const waiting = asked(closed);
  closed.client.close();
  await closed.settle();
  const late = asked(closed);
  await closed.settle();
  for (const { error } of [waiting, late]) assert.equal(error.code, "not_connected");
  const ended = new World();
  const first = asked(ended);
  await ended.open();
  await ended.close(4001, "bad token");
  const second = asked(ended);
  await ended.settle();
  for (const { error } of [first, second]) assert.match(`${error.code}: ${error.message}`, /not_connected: .*bad token/);
});
