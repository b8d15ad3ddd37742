import Dispatch
import Gateway
import Logging
import Transport

// Where the commands meet the parts that do their work: a function each.

/// Runs a gateway until SIGINT or SIGTERM, then drains it.
func serve(_ configuration: GatewayConfiguration) async throws {
  var log = Logger(label: "tidegate")
  log.logLevel = configuration.logLevel
  let gateway = try Gateway(configuration: configuration, log: log)
  try gateway.start()
  log.info(
    "serving",
    metadata: [
      "clients": "\(configuration.tls == nil ? "ws" : "wss")://\(gateway.address.description)/v1/stream",
      "internal": "http://\(gateway.internalAddress.description)/metrics", "version": "\(TidegateVersion.current)",
    ])
  let signals = AsyncStream<Int32>.makeStream()
  let sources = Interrupt.sources { signals.continuation.yield($0) }
  defer { for source in sources { source.cancel() } }
  for await number in signals.stream {
    log.info("stopping", metadata: ["signal": "\(number)"])
    break
  }
  await withCheckedContinuation { continuation in gateway.stop { continuation.resume() } }
}

func replay(files: [String], json: Bool) async throws { fatalError("being written") }
func record(_ configuration: GatewayConfiguration, seconds: Int?) async throws { fatalError("being written") }
func simulate(_ command: SimulateCommand) async throws { fatalError("being written") }
