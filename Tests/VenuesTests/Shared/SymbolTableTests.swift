import TestSupport
import Testing

@testable import Venues

@Suite("Symbol table")
struct SymbolTableTests {
  private func find(_ table: SymbolTable, _ name: String) -> Int {
    let bytes = Array(name.utf8)
    return table.find(bytes.span.bytes)
  }

  @Test("finds what was inserted, in order of insertion, and nothing else")
  func finds() {
    var table = SymbolTable()
    let names = (0..<1000).map { "SYM\($0 * 7919 % 1000)USDT" } + ["币安人生USDT", ""]
    for (index, name) in names.enumerated() { #expect(table.insert(name) == index) }
    for (index, name) in names.enumerated() { #expect(find(table, name) == index) }
    #expect(table.insert(names[5]) == 5)
    #expect(table.count == names.count)
    for name in ["SYM1USD", "SYM1USDTT", "sym1usdt", "BTCUSDT"] { #expect(find(table, name) == -1) }
  }

  @Test("is bounded")
  func bounds() {
    var table = SymbolTable()
    #expect(table.insert(String(repeating: "A", count: 256)) == nil)
    for index in 0..<SymbolTable.limit { #expect(table.insert("\(index)") == index) }
    #expect(table.insert("one more") == nil)
    #expect(table.insert("17") == 17)
  }
}
