import MarketData
import Testing

@testable import History

@Suite("The store of asset names")
struct AssetNameStoreTests {
  private static func submit(_ list: StoredNames, of source: String, to store: AssetNameStore) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let isTaken = store.submit(list, of: source) { continuation.resume(with: $0.mapError { $0 as any Error }) }
      if !isTaken { continuation.resume(throwing: DataFileError.busy(path: "")) }
    }
  }

  @Test("keeps the last list of every source, whole, over a closing of the file")
  func kept() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/names.sqlite"
    let first = StoredNames(time: Timestamp(microseconds: 5), names: ["ZEC": "Zcash", "OLD": "Gone"])
    let second = StoredNames(time: Timestamp(microseconds: 9), names: ["ZEC": "Zcash", "BTC": "比特币"])
    let other = StoredNames(time: Timestamp(microseconds: 7), names: ["ATOM": "Cosmos-Atom"])
    do {
      let store = AssetNameStore(file: try DataFile(path: path, parts: SchemaPart.all, stamp: "x"))
      #expect(try store.load().isEmpty)
      try await Self.submit(first, of: "coinbase", to: store)
      try await Self.submit(other, of: "bitfinex@http://127.0.0.1:1", to: store)
      try await Self.submit(second, of: "coinbase", to: store)
      store.file.close()
    }
    let store = AssetNameStore(file: try DataFile(path: path, parts: SchemaPart.all, stamp: "x"))
    #expect(try store.load() == ["coinbase": second, "bitfinex@http://127.0.0.1:1": other])
    store.file.close()
  }
}
