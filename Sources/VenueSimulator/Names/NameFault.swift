/// What can be wrong with an answer of asset names.
package enum NameFault: String, Sendable, CaseIterable {
  /// No rows.
  case empty
  /// Rows without a name, with null or a number for one, and rows that are none.
  case ragged
  /// Codes twice, names of control characters, names that turn the direction of writing, and very long ones.
  case hostile
  /// Cut in the middle.
  case cut
  /// Refused as too many requests.
  case limited
}
