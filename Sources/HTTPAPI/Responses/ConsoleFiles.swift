import Bytes
import Console
import HTTP1
import PubSub

/// The console's pages and `tidegate.js`, as the client port serves them. Made once; every answer shares the bytes.
package struct ConsoleFiles: Sendable {
  /// What a page of the console may load: its own files and its own gateway, nothing else (CSP level 3).
  static let policy = """
    default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'
    """

  /// The files of the client port.
  package static let embedded = ConsoleFiles { $0.hasPrefix(operationsPrefix) ? nil : $0 }
  /// The files of the internal port: the page `/ops` and its parts. They contain no data; the page requests its data
  /// from the administration.
  package static let operations = ConsoleFiles { path in
    path == operationsPrefix + "index.html"
      ? "/ops" : path.hasPrefix(operationsPrefix) || operationsShare.contains(path) ? path : nil
  }
  private static let operationsPrefix = "/console/ops/"
  /// Files that `/ops` shares with the console.
  private static let operationsShare: Set<String> = [
    "/console/dom.js", "/console/theme.js", "/console/icon.svg", "/console/styles/console.css",
    "/console/styles/tokens.css",
  ]

  private let responses: [String: HTTPResponse]

  /// The paths that are served, in no order.
  var paths: some Collection<String> { responses.keys }

  /// - Parameter path: the path that a file is served at; nil: it is not served.
  private init(_ path: (String) -> String?) {
    var responses: [String: HTTPResponse] = [:]
    var index = 0
    while let file = consoleFile(index)?.pointee {
      let body = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
      var response = HTTPResponse(
        status: 200, contentType: String(cString: file.mediaType), body: body,
        fields: [
          HTTPField("Cache-Control", "no-cache"),
          HTTPField("Content-Security-Policy", Self.policy),
          HTTPField("X-Content-Type-Options", "nosniff"),
          HTTPField("Referrer-Policy", "no-referrer"),
        ])
      var tag = ContentTag(run: "console")
      tag.add(body)
      response.entityTag = EntityTag.text(tag)
      if let path = path(String(cString: file.path)) { responses[path] = response }
      index += 1
    }
    self.responses = responses
  }

  /// The answer to a GET of `path`; nil if no file is served there. O(1).
  package subscript(path: String) -> HTTPResponse? { responses[path] }
}
