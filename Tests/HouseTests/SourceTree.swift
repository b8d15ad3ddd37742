import Foundation

/// The files of the project, read beside this one.
enum SourceTree {
  struct File {
    /// Relative to the project: `Sources/Bytes/SWAR.swift`.
    let path: String
    let lines: [Substring]

    /// The folder below `Sources` or `Tests`: `Bytes`.
    var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
    /// `SWAR.swift`.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The folders below the target's: `TLS`, empty for the target's own.
    var folder: String { path.split(separator: "/").dropFirst(2).dropLast().joined(separator: "/") }

    /// The modules that it imports.
    var imports: [String] {
      lines.compactMap { line in
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index + 1 < words.count else { return nil }
        let isImport = words[..<index].allSatisfy { $0.hasPrefix("@") || $0 == "package" || $0 == "public" }
        return isImport ? String(words[words.count - 1].split(separator: ".")[0]) : nil
      }
    }
  }

  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Files below a folder that end in one of `extensions`, sorted by path. Build folders and hidden ones are left out.
  static func files(in folder: String, _ extensions: Set<String> = ["swift"]) -> [File] {
    let base = root.appendingPathComponent(folder)
    let found = FileManager.default.enumerator(
      at: base, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    var files: [File] = []
    while let file = found?.nextObject() as? URL {
      guard extensions.contains(file.pathExtension), let text = try? String(contentsOf: file, encoding: .utf8) else {
        continue
      }
      let path = String(file.path.dropFirst(root.path.count + 1))
      files.append(File(path: path, lines: text.split(separator: "\n", omittingEmptySubsequences: false)))
    }
    return files.sorted { $0.path < $1.path }
  }

  /// The folders directly below a folder, sorted.
  static func folders(in folder: String) throws -> [String] {
    let base = root.appendingPathComponent(folder)
    return try FileManager.default.contentsOfDirectory(atPath: base.path).sorted().filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: base.appendingPathComponent($0).path, isDirectory: &isFolder)
        && isFolder.boolValue
    }
  }
}
