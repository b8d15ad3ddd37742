import Foundation
import Testing

@testable import Transport

@Suite("Process figures")
struct ProcessFiguresTests {
  @Test("they are those of this process")
  func current() throws {
    let before = ProcessFigures.current
    let file = try #require(FileHandle(forReadingAtPath: "/dev/null"))
    let resident = try #require(before.residentBytes)
    #expect((1 << 20...1 << 40).contains(resident))
    #expect(try #require(before.virtualBytes) >= resident)
    let open = try #require(before.openDescriptors)
    // Tests beside it open and close some, too.
    #expect((3...before.descriptorLimit).contains(open))
    let listed = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    #expect(abs(listed - open) < 200)
    #expect(before.descriptorLimit == DescriptorLimit.current)
    let started = try #require(before.startTime)
    #expect((0...86_400 * 7).contains(Date().timeIntervalSince1970 - started))
    var sum = 0.0
    while ProcessFigures.current.cpuSeconds < before.cpuSeconds + 0.02 { sum += sum.nextUp.squareRoot() }
    #expect(ProcessFigures.current.startTime == started)
    try file.close()
  }

  @Test("a program's name cannot shift the fields", arguments: ["tidegate", "a) R 1 2 (b", ") ) )", ""])
  func fields(name: String) throws {
    let numbers = (4...52).map { "\($0 * 100)" }.joined(separator: " ")
    let fields = try #require(ProcessFigures.fields(of: Array("4711 (\(name)) S \(numbers)\n".utf8)))
    #expect(fields.startTicks == 2_200 && fields.virtualBytes == 2_300)
  }

  @Test("what is no stat line has no fields", arguments: ["", "4711 (x) S 1 2", "4711 x"])
  func garbage(text: String) { #expect(ProcessFigures.fields(of: Array(text.utf8)) == nil) }
}
