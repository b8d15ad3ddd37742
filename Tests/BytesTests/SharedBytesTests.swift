import Bytes
import Synchronization
import Testing

@Suite("Shared bytes")
struct SharedBytesTests {
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
