import Bytes
import Testing

@testable import HTTP1

@Suite("Writing heads")
struct HTTPEncoderTests {
  private func text(
    _ head: HTTPResponseHead, bodyLength: Int? = 0, keepAlive: Bool = true, date: String? = nil
  ) -> String {
    String(
      decoding: encoded {
        HTTPEncoder.append(head, bodyLength: bodyLength, keepAlive: keepAlive, date: date, to: &$0)
      }, as: UTF8.self)
  }

  private func text(_ head: HTTPRequestHead, bodyLength: Int = 0) -> String {
    String(decoding: encoded { HTTPEncoder.append(head, bodyLength: bodyLength, to: &$0) }, as: UTF8.self)
  }

  @Test("A response has its length, date and connection")
  func response() {
    #expect(
      text(HTTPResponseHead(status: 200, fields: HTTPFields([HTTPField("X", "y")])), bodyLength: 12, date: "now")
        == "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 12\r\nDate: now\r\nConnection: keep-alive\r\n\r\n")
    #expect(
      text(HTTPResponseHead(status: 400), keepAlive: false)
        == "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    #expect(text(HTTPResponseHead(status: 299), bodyLength: nil) == "HTTP/1.1 299 \r\nConnection: keep-alive\r\n\r\n")
  }

  @Test("A 204 and an interim response have no length")
  func bodiless() {
    #expect(text(HTTPResponseHead(status: 204)) == "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n")
    #expect(text(HTTPResponseHead(status: 100), keepAlive: false) == "HTTP/1.1 100 Continue\r\n\r\n")
  }

  @Test("What is among the fields is not repeated; a close is added to another connection option")
  func noRepeats() {
    let fields = HTTPFields([
      HTTPField("content-length", "7"), HTTPField("date", "then"), HTTPField("connection", "Upgrade"),
    ])
    let start = "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 7\r\ndate: then\r\nconnection: Upgrade\r\n"
    #expect(text(HTTPResponseHead(status: 426, fields: fields), bodyLength: 1, date: "now") == start + "\r\n")
    #expect(
      text(HTTPResponseHead(status: 426, fields: fields), bodyLength: 1, keepAlive: false, date: "now")
        == start + "Connection: close\r\n\r\n")
  }

  @Test("Nothing can be smuggled in through a value, a reason or a target")
  func injection() {
    let fields = HTTPFields([HTTPField("Host", "h"), HTTPField("X", "a\r\nEvil: b\u{0}\u{7F}\tc é")])
    #expect(
      text(HTTPResponseHead(status: 200, reason: "O\r\nK", fields: fields), bodyLength: nil)
        == "HTTP/1.1 200 O  K\r\nHost: h\r\nX: a  Evil: b  \tc é\r\nConnection: keep-alive\r\n\r\n")
    #expect(
      text(HTTPRequestHead(method: "GET", target: "/a b\r\né#%41", fields: HTTPFields([HTTPField("Host", "h")])))
        == "GET /a%20b%0D%0A%C3%A9%23%41 HTTP/1.1\r\nHost: h\r\n\r\n")
  }

  @Test("A request says its length if it has a body or usually has one")
  func requestLength() {
    let host = HTTPFields([HTTPField("Host", "h")])
    #expect(text(HTTPRequestHead(method: "GET", target: "", fields: host)) == "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(
      text(HTTPRequestHead(method: "POST", target: "/", fields: host))
        == "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
    #expect(
      text(HTTPRequestHead(method: "GET", target: "/", fields: host), bodyLength: 3).contains("Content-Length: 3\r\n"))
  }

  @Test("What is encoded is parsed")
  func roundTrip() {
    let fields = HTTPFields([HTTPField("Host", "h:1"), HTTPField("X", "")])
    let body = Array("body".utf8)
    let request = encoded {
      HTTPEncoder.append(HTTPRequestHead(method: "PUT", target: "/x", fields: fields), bodyLength: 4, to: &$0)
      $0.append(body)
    }
    #expect(requests([request]) == [.request("PUT", "/x", fields.fields + [HTTPField("Content-Length", "4")], body)])
    let response = encoded {
      HTTPEncoder.append(HTTPResponseHead(status: 200), bodyLength: 4, keepAlive: false, date: nil, to: &$0)
      $0.append(body)
    }
    #expect(
      responses([response]) == [
        .response(200, "OK", [HTTPField("Content-Length", "4"), HTTPField("Connection", "close")], body)
      ])
  }
}
