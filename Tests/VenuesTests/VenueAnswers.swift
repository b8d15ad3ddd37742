/// What venues answer to subscriptions that they take, made of the requests; nothing for those whose tests say it
/// themselves.
enum VenueAnswers {
  static func acknowledgements(of request: String, at venue: String) -> [String] {
    func after(_ key: String) -> Substring? { request.firstRange(of: key).map { request[$0.upperBound...] } }
    func number(_ key: String) -> String { after(key).map { String($0.prefix(while: \.isNumber)) } ?? "0" }
    func list(_ key: String) -> String { after(key + "[").map { String($0.prefix { $0 != "]" }) } ?? "" }
    switch venue {
    case "gate":
      return [#"{"id":\#(number(#""id":"#)),"channel":"a","event":"subscribe","result":{"status":"success"}}"#]
    case "kucoin": return [#"{"id":"\#(number(#""id":""#))","result":true}"#]
    case "gemini": return [#"{"id":\#(number(#""id":"#)),"status":200}"#]
    case "bybit":
      return [#"{"success":true,"ret_msg":"","conn_id":"a","req_id":"\#(number(#""req_id":""#))","op":"subscribe"}"#]
    case "deribit" where request.contains("set_heartbeat"):
      return [#"{"jsonrpc":"2.0","id":\#(number(#""id":"#)),"result":"ok"}"#]
    case "deribit":
      return [#"{"jsonrpc":"2.0","id":\#(number(#""id":"#)),"result":[\#(list(#""channels":"#))]}"#]
    case "okx":
      let arguments = list(#""args":"#).dropFirst().dropLast().split(separator: "},{")
      return arguments.map {
        #"{"id":"\#(number(#""id":""#))","event":"subscribe","arg":{\#($0)},"connId":"a"}"#
      }
    case "bitget":
      let arguments = list(#""args":"#).dropFirst().dropLast().split(separator: "},{")
      let event = request.contains(#""op":"unsubscribe""#) ? "unsubscribe" : "subscribe"
      return arguments.map { #"{"event":"\#(event)","arg":{\#($0)}}"# }
    case "kraken":
      guard request.contains(#""method":"subscribe""#),
        let channel = after(#""channel":""#)?.prefix(while: { $0 != "\"" })
      else { return [] }
      return list(#""symbol":"#).split(separator: ",").map { symbol in
        #"{"method":"subscribe","result":{"channel":"\#(channel)","symbol":\#(symbol)},"success":true,"req_id":\#(number(#""req_id":"#))}"#
      }
    default: return []
    }
  }
}
