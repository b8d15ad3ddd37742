/// Why the gateway ends a client's connection (RFC 6455 leaves 4000–4999 to applications): 4000–4099 do not reconnect,
/// 4100–4199 reconnect after a while, 4200–4299 reconnect now.
package enum CloseCode {
  package static let unauthorized: UInt16 = 4001
  package static let forbidden: UInt16 = 4003
  package static let protocolErrors: UInt16 = 4008
  package static let slow: UInt16 = 4108
  package static let noPong: UInt16 = 4110
  /// The data is not live, which another protocol cannot say. Only clients of other protocols are closed with it, with
  /// the code that theirs has for that.
  static let notLive: UInt16 = 4112
  /// An operator ended the connection.
  package static let disconnected: UInt16 = 4120
  package static let rateLimited: UInt16 = 4129
  package static let draining: UInt16 = 4201
  package static let takenOver: UInt16 = 4202
}
