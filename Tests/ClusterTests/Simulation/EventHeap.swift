/// Events by time; of equal times the first one first.
struct EventHeap<Event> {
  private var heap: [(time: Int64, order: Int, event: Event)] = []
  private var order = 0

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    heap[a].time != heap[b].time ? heap[a].time < heap[b].time : heap[a].order < heap[b].order
  }

  mutating func push(_ event: Event, at time: Int64) {
    order += 1
    heap.append((time, order, event))
    var index = heap.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func pop() -> (Int64, Event)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return (first.time, first.event) }
    heap[0] = last
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && isBefore(child, least) { least = child }
      guard least != index else { break }
      heap.swapAt(index, least)
      index = least
    }
    return (first.time, first.event)
  }
}
