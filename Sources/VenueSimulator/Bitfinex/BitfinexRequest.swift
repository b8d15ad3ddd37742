import Bytes

/// A client's event.
struct BitfinexRequest {
  var event = ""
  var channel = ""
  var symbol = ""
  var precision = "P0"
  var frequency = "F0"
  var length = "25"
  var number: Int64 = 0
  var flags: Int64 = 0
  /// The text of `cid`, which the answer repeats.
  var id: String?

  init(_ text: RawSpan) throws(JSONError) {
    var json = JSONScanner(text)
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "event") {
        event = try json.decoded(try json.string())
      } else if json.equals(key, "channel") {
        channel = try json.decoded(try json.string())
      } else if json.equals(key, "symbol") {
        symbol = try json.decoded(try json.string())
      } else if json.equals(key, "prec") {
        precision = try json.decoded(try json.string())
      } else if json.equals(key, "freq") {
        frequency = try json.decoded(try json.string())
      } else if json.equals(key, "len") {
        // As text, or as a number, which is taken too.
        length = String(try json.int64())
      } else if json.equals(key, "chanId") {
        number = try json.int64()
      } else if json.equals(key, "flags") {
        flags = try json.int64()
      } else if json.equals(key, "cid") {
        id = String(try json.int64())
      } else {
        try json.skipValue()
      }
    }
    try json.end()
  }
}
