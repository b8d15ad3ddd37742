// What every client of tidegate.v1 must see, with the WebSocket that browsers, Node and Deno have built in.

/**
 * Streams from `url` for `seconds`, and on until enough has come, 40 s at the most; a promise of what was seen, rejected with what was wrong.
 */
export function watch(url, symbols, seconds) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, ["tidegate.v1.json"]);
    const seqs = new Map();
    const counts = {};
    let dataFrames = 0;
    let isOver = false;
    const start = performance.now();
    const hasEnough = () => counts.snapshot > 20 && counts.update > 20 && counts.heartbeat >= seconds / 4;
    const finish = (problem) => {
      if (isOver) return;
      isOver = true;
      socket.close(1000);
      if (problem) return reject(new Error(problem));
      if (counts.welcome !== 1 || counts.subscribed !== 1 || !hasEnough()) return reject(new Error(`too little came: ${JSON.stringify(counts)}`));
      resolve({ counts, extensions: socket.extensions });
    };
    socket.onerror = (event) => finish(`socket error ${event.message ?? ""}`);
    socket.onclose = (event) => finish(`closed ${event.code} ${event.reason}`);
    socket.onopen = () => {
      if (socket.protocol !== "tidegate.v1.json") return finish(`subprotocol ${socket.protocol}`);
      socket.send(JSON.stringify({ op: "hello", id: "h", client: "peer", heartbeat_s: 1 }));
      setInterval(() => {
        const elapsed = (performance.now() - start) / 1000;
        if (elapsed >= 40 || (elapsed >= seconds && hasEnough())) finish(null);
      }, 100);
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      const { type, channel, stream, prev, seq } = message;
      const last = seqs.get(stream);
      counts[type] = (counts[type] ?? 0) + 1;
      switch (type) {
        case "welcome": {
          const streams = ["trades", "quote", "ticker", "pulse", "sparkline"].map((name) => ({ channel: name, symbols }));
          streams.push({ channel: "book", symbols, depth: 25, interval_ms: 100 }, { channel: "status" });
          return socket.send(JSON.stringify({ op: "subscribe", id: 1, streams }));
        }
        case "subscribed":
          if (message.failed.length > 0) finish(JSON.stringify(message.failed));
          return;
        case "snapshot":
          dataFrames += 1;
          if (!counts.subscribed) finish("a snapshot before the subscription was answered");
          return seqs.set(stream, seq);
        case "update":
          dataFrames += 1;
          if (last === undefined && channel !== "trades") finish(`update before a snapshot: ${event.data.slice(0, 200)}`);
          if (last !== undefined && last !== prev) finish(`prev ${prev} after ${last}: ${event.data.slice(0, 200)}`);
          return seqs.set(stream, seq);
        case "heartbeat":
          if (message.sent !== dataFrames) finish(`sent ${message.sent}, received ${dataFrames}`);
          return;
        case "notice":
          return;
        default:
          return finish(`unexpected: ${event.data.slice(0, 200)}`);
      }
    };
  });
}
