import Foundation
import Testing

@testable import Settings

@Suite("Paths of the configuration")
struct FileProblemTests {
  @Test("a folder that is missing is named, for what is read and for what is written")
  func missingFolders() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-paths-\(UUID().uuidString)")
      .path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "x".write(toFile: folder + "/file", atomically: true, encoding: .utf8)

    #expect(FileProblem.reading(folder + "/file") == nil)
    #expect(FileProblem.reading(folder + "/other") == "the file does not exist")
    #expect(FileProblem.reading(folder + "/no/file") == "the folder \(folder)/no does not exist")
    #expect(FileProblem.recording(folder + "/new.ndjson.gz") == nil)
    #expect(FileProblem.recording(folder + "/no/new.ndjson.gz") == "the folder \(folder)/no does not exist")
    #expect(FileProblem.recording(folder) == "it is a folder: write \(folder)/")
    // A folder is made, with those above it.
    #expect(FileProblem.recording(folder + "/") == nil)
    #expect(FileProblem.recording(folder + "/made/on/demand/") == nil)
    #expect(FileProblem.recording(folder + "/file/below/") == "\(folder)/file is not a folder")
    #expect(FileProblem.recording("here.ndjson.gz") == nil)
  }

  @Test("the loader says which setting and what is wrong")
  func loader() {
    var loader = ConfigurationLoader(
      venues: ConfigurationLoaderTests.venues, isReadable: { _ in false }, tlsProblems: { _ in [] }, files: .system)
    loader.read(
      contents: Array("keys-file: /nowhere-at-all/keys\nrecord: /nowhere-at-all/x.gz\n".utf8), isJSON: false,
      name: "t.yaml")
    loader.check(needsData: false)
    #expect(
      loader.problems.map(\.description) == [
        "keys-file: \"/nowhere-at-all/keys\" cannot be read: the folder /nowhere-at-all does not exist (file t.yaml, key keys-file); "
          + "allowed: a readable file",
        "record: \"/nowhere-at-all/x.gz\" cannot be written: the folder /nowhere-at-all does not exist (file t.yaml, key record); "
          + "allowed: a file in an existing folder, or a folder with / at its end",
      ])
  }
}
