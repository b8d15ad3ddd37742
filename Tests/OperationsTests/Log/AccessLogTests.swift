import Testing
import Transport

@testable import Operations

@Suite("The access log")
struct AccessLogTests {
  private let lines = LogLines()

  private func log(_ scope: AccessLog.Scope, perSecond: Int = 100) -> AccessLog {
    AccessLog(lines.logger, .init(scope: scope, linesPerSecond: perSecond)) { 5_000_000 }
  }

  private func request(_ log: AccessLog, _ path: String? = "/v1/status") {
    log.request(
      .init(peer: IPAddress("192.0.2.7"), subject: "app"), method: path == nil ? nil : "GET", path: path, status: 200,
      bytes: 412, nanoseconds: 84_900)
  }

  @Test("a request is a line with who, what, how it ended, how much and how long")
  func request() {
    request(log(.http))
    request(log(.http), nil)
    #expect(
      lines.all == [
        "level=info msg=request bytes=412 key=app method=GET path=/v1/status peer=192.0.2.7 status=200 us=84",
        "level=info msg=request bytes=412 key=app method=- path=- peer=192.0.2.7 status=200 us=84",
      ])
  }

  @Test("it is silent where it is not asked for, and asks nobody who the client is")
  func off() {
    for scope in [AccessLog.Scope.none, .streams] {
      let log = log(scope)
      log.request(
        {
          Issue.record("nobody wants to know")
          return .init()
        }(), method: "GET", path: "/", status: 200, bytes: 0, nanoseconds: 0)
    }
    #expect(lines.all == [])
  }

  @Test("beyond its rate lines are counted, and a reload changes what is logged")
  func rate() {
    let log = log(.http, perSecond: 3)
    for _ in 0..<10 { request(log) }
    log.tell()
    #expect(lines.all.count == 4)
    #expect(lines.all.last == "level=notice msg=\"access lines were left out\" count=7")
    log.tell()
    log.apply(.init(scope: .none))
    request(log)
    #expect(lines.all.count == 4)
  }
}
