import Bytes
import Synchronization
import Testing

@Suite("Shared bytes")
struct SharedBytesTests {
  @Test("have the bytes that they were made of, also where nobody else holds these: in a release, too")
  func copies() {
    for count in [1, 4, 30, 1_000] {
      let text = String(repeating: "data: ", count: count)
      let made = SharedBytes(Array("\(text)".utf8))
      // What was freed too early is used again.
      let others = (0..<8).map { _ in Array(repeating: UInt8(0), count: made.count) }
      #expect(Array(made.unsafeBytes) == Array(text.utf8) && others.count == 8)
      let spanned = SharedBytes(Array("\(text)".utf8).span.bytes)
      #expect(Array(spanned.unsafeBytes) == Array(text.utf8))
    }
    #expect(SharedBytes([]).count == 0)
  }

  @Test("a compressedForm is made once, and asked for once where there is none")
  func compressedForm() {
    let bytes = SharedBytes([1, 2, 3])
    let compressedForm = bytes.compressedForm(SharedBytes([4]))
    #expect(compressedForm.map { Array($0.unsafeBytes) } == [4])
    var isAsked = false
    func other() -> SharedBytes? {
      isAsked = true
      return SharedBytes([5])
    }
    #expect(bytes.compressedForm(other()) === compressedForm)
    let alone = SharedBytes([1])
    #expect(alone.compressedForm(nil) == nil)
    #expect(alone.compressedForm(other()) == nil)
    #expect(!isAsked)
  }

  @Test("a compressedForm lives as long as its frame")
  func lifetime() {
    weak var seen: SharedBytes?
    var bytes: SharedBytes? = SharedBytes([1])
    seen = bytes?.compressedForm(SharedBytes([2]))
    #expect(seen != nil)
    bytes = nil
    #expect(seen == nil)
  }

  @Test("threads that ask at once get the same one")
  func threads() async {
    for _ in 0..<200 {
      let bytes = SharedBytes([1])
      let twins = await withTaskGroup(of: ObjectIdentifier?.self) { group in
        for number in 0..<4 as Range<UInt8> {
          group.addTask { bytes.compressedForm(SharedBytes([number])).map { ObjectIdentifier($0) } }
        }
        return await group.reduce(into: Set<ObjectIdentifier?>()) { $0.insert($1) }
      }
      #expect(twins.count == 1 && !twins.contains(nil))
    }
  }
}
