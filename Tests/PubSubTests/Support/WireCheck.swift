@testable import PubSub

/// Holds a message to what the description for machines says that it always has.
enum WireCheck {
  static func problems(_ message: [String: Any], _ text: String) -> [String] {
    let type = message["type"] as? String ?? ""
    // What a group's message has of its members is checked by its own tests.
    if message["group"] as? Bool == true { return [] }
    var needed: [String]
    if type == "snapshot" || type == "update" {
      needed = type == "snapshot" ? WireDescription.snapshot : WireDescription.update
      let channel = ChannelName(rawValue: message["channel"] as? String ?? "")
      guard let known = channel.flatMap({ WireDescription.channels[$0] }) else { return ["no such channel: \(text)"] }
      // What these show is made elsewhere, and tests make it up.
      if channel == .alerts || channel == .topic { return [] }
      let data = message["data"] as? [String: Any] ?? [:]
      let missing = Set(type == "snapshot" ? known.snapshot : known.update).subtracting(data.keys).sorted()
      if !missing.isEmpty { return ["data has no \(missing): \(text)"] }
    } else {
      guard let members = WireDescription.messages[type] else { return ["no such type: \(text)"] }
      needed = members
    }
    let missing = Set(needed).subtracting(message.keys).sorted()
    return missing.isEmpty ? [] : ["no \(missing): \(text)"]
  }
}
