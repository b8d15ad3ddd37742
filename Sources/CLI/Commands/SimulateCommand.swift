import ArgumentParser
import Foundation
import Gateway
import Transport
import VenueSimulator
import Venues

struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Be an exchange on this machine, in its own protocol, with faults on demand.",
    discussion: """
        tidegate simulate --venue kraken --listen 127.0.0.1:9001
        tidegate serve --feed kraken=BTC-USD --endpoint kraken=ws://127.0.0.1:9001
      """)

  @Option(help: ArgumentHelp("The exchange to be.", valueName: "venue"))
  var venue: String
  @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "host:port"))
  var listen: String
  @Option(help: ArgumentHelp("Seed of the market.", valueName: "n"))
  var seed: UInt64 = 1
  @Option(help: ArgumentHelp("Messages per second and symbol, 1 to 100000.", valueName: "n"))
  var rate = 20
  @Option(help: ArgumentHelp("Send this recording instead of a made-up market.", valueName: "recording"))
  var from: String?
  @Option(help: ArgumentHelp("Do something wrong now and then. Repeatable.", valueName: "kind[=value][@seconds]"))
  var fault: [String] = []
  @Option(
    help: ArgumentHelp("Serve wss with a fresh certificate and write its root here, for --ca.", valueName: "file"))
  var caOut: String?

  /// What `--fault` says.
  var faults: [Fault] {
    get throws {
      var faults: [Fault] = []
      for text in fault {
        do throws(FaultError) {
          faults.append(try Fault(parsing: text))
        } catch {
          throw ValidationError("--fault \"\(text)\": \(error.description)")
        }
      }
      return faults
    }
  }

  func validate() throws {
    _ = try faults
    let names = VenueRegistry.venues.map(\.name).sorted()
    if !names.contains(venue) {
      throw ValidationError("--venue: \(VenueRegistry.unknownVenue(venue))")
    }
    if (try? SocketAddress(parsing: listen)) == nil {
      throw ValidationError("--listen \"\(listen)\" is not allowed; give HOST:PORT with a numeric host or localhost.")
    }
    if !(1...100_000).contains(rate) { throw ValidationError("--rate \(rate) is not allowed; give 1 to 100000.") }
    if let from, !FileManager.default.isReadableFile(atPath: from) {
      throw ValidationError("--from \"\(from)\" cannot be read; give a recording.")
    }
  }

  func run() async throws { try await simulate(self) }
}
