// A client of tidegate.v1 with Gorilla's package. Usage: go_client URL [CA]   (PEER_SYMBOLS, PEER_SECONDS)
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

type message struct {
	Type, Channel     string
	Stream, Prev, Seq int64
	Sent              int64
	Failed            []json.RawMessage
}

func fail(format string, values ...interface{}) {
	fmt.Printf("  "+format+"\n", values...)
	os.Exit(1)
}

func main() {
	seconds, err := strconv.ParseFloat(os.Getenv("PEER_SECONDS"), 64)
	if err != nil {
		seconds = 4
	}
	symbols := strings.Split(os.Getenv("PEER_SYMBOLS"), ",")
	dialer := websocket.Dialer{Subprotocols: []string{"tidegate.v1.json"}, EnableCompression: true}
	if len(os.Args) > 2 {
		pem, err := os.ReadFile(os.Args[2])
		if err != nil {
			fail("%v", err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		dialer.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	socket, response, err := dialer.Dial(os.Args[1], nil)
	if err != nil {
		fail("%v", err)
	}
	if socket.Subprotocol() != "tidegate.v1.json" {
		fail("subprotocol %q", socket.Subprotocol())
	}
	socket.WriteJSON(map[string]interface{}{"op": "hello", "id": "h", "client": "peer", "heartbeat_s": 1})
	start := time.Now()
	counts, seqs, dataFrames := map[string]int{}, map[int64]int64{}, int64(0)
	hasEnough := func() bool {
		return counts["snapshot"] > 20 && counts["update"] > 20 && float64(counts["heartbeat"]) >= seconds/4
	}
	// A busy machine may take longer to send what must be seen.
	for time.Since(start).Seconds() < seconds || time.Since(start).Seconds() < 40 && !hasEnough() {
		socket.SetReadDeadline(start.Add(60 * time.Second))
		_, text, err := socket.ReadMessage()
		if err != nil {
			fail("%v", err)
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			fail("%v: %.200s", err, text)
		}
		counts[m.Type]++
		last, known := seqs[m.Stream]
		switch m.Type {
		case "welcome":
			streams := []map[string]interface{}{}
			for _, channel := range []string{"trades", "quote", "ticker", "pulse", "sparkline"} {
				streams = append(streams, map[string]interface{}{"channel": channel, "symbols": symbols})
			}
			streams = append(streams, map[string]interface{}{"channel": "book", "symbols": symbols, "depth": 25, "interval_ms": 100})
			streams = append(streams, map[string]interface{}{"channel": "status"})
			socket.WriteJSON(map[string]interface{}{"op": "subscribe", "id": 1, "streams": streams})
		case "subscribed":
			if len(m.Failed) > 0 {
				fail("not subscribed: %.200s", text)
			}
		case "snapshot":
			dataFrames++
			if counts["subscribed"] == 0 {
				fail("a snapshot before the subscription was answered")
			}
			seqs[m.Stream] = m.Seq
		case "update":
			dataFrames++
			if !known && m.Channel != "trades" {
				fail("update before a snapshot: %.200s", text)
			}
			if known && last != m.Prev {
				fail("prev %d after %d: %.200s", m.Prev, last, text)
			}
			seqs[m.Stream] = m.Seq
		case "heartbeat":
			if m.Sent != dataFrames {
				fail("sent %d, received %d", m.Sent, dataFrames)
			}
		case "notice":
		default:
			fail("unexpected: %.200s", text)
		}
	}
	if !hasEnough() {
		fail("too little came: %v", counts)
	}
	socket.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""))
	fmt.Printf("  %s, %s: %v\n", runtime.Version(), response.Header.Get("Sec-WebSocket-Extensions"), counts)
}
