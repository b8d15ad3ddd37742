/// Cells of one line from left to right, with two spaces between them; cells that do not fit are left out. No line ends
/// with spaces. For programs, the cells are whole and have one tab between them.
struct LineCells {
  enum Color: String, Sendable {
    case green = "32", yellow = "33", red = "31", dim = "2"
  }

  let width: Int
  let color: Bool
  /// Whether each cell fills its columns.
  let pads: Bool
  private(set) var text = ""
  private var used = 0
  /// Spaces that come before the next cell, if there is one.
  private var owed = 0
  private var isEmpty = true

  init(width: Int, color: Bool, pads: Bool = true) {
    self.width = width
    self.color = color
    self.pads = pads
  }

  mutating func add(_ content: String, columns: Int, _ tint: Color? = nil, alignRight: Bool = false) {
    guard pads else {
      text += (isEmpty ? "" : "\t") + WatchTable.printable(content)
      isEmpty = false
      return
    }
    let gap = used == 0 ? 0 : 2
    let room = min(columns, width - used - gap)
    guard room > 0 else { return }
    // A truncated number would be a wrong one.
    if alignRight, room < columns, content.count > room { used = width; return }
    let shown = WatchTable.fit(WatchTable.printable(content), room)
    let padding = room - shown.count
    used += gap + room
    owed += gap
    guard !shown.isEmpty else { return owed += padding }
    text += String(repeating: " ", count: owed + (alignRight ? padding : 0))
    text += tint.map { color ? "\u{1B}[\($0.rawValue)m\(shown)\u{1B}[0m" : shown } ?? shown
    owed = alignRight ? 0 : padding
  }
}
