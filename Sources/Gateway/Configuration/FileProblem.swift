import Foundation

/// What is wrong with a path of the configuration, in words.
enum FileProblem {
  /// Why a file cannot be read: which of its folders is not there, for one; nil if nothing is wrong with the path
  /// itself.
  static func reading(_ path: String) -> String? {
    if let reason = missingFolder(of: path) { return reason }
    guard FileManager.default.fileExists(atPath: path) else { return "there is no such file" }
    return FileManager.default.isReadableFile(atPath: path) ? nil : "this user may not read it"
  }

  /// Why nothing can be recorded there; nil if it can. A folder (its path ends in `/`) is made with all that are above
  /// it.
  static func recording(_ path: String) -> String? {
    if !path.hasSuffix("/") {
      if let reason = missingFolder(of: path) { return reason }
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
        return "it is a folder: write \(path)/"
      }
      return writing(into: folder(of: path))
    }
    var ancestor = String(path.dropLast())
    while !ancestor.isEmpty, ancestor != "/", !FileManager.default.fileExists(atPath: ancestor) {
      ancestor = folder(of: ancestor)
    }
    return writing(into: ancestor.isEmpty ? "/" : ancestor)
  }

  /// Whether others than its owner and group may write a file, or what a link points to: links themselves are open to
  /// all.
  static func isWritableByAll(_ path: String) -> Bool {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    return mode.map { $0.intValue & 0o002 != 0 } ?? false
  }

  /// The problem of such a file if it decides about access.
  static func writableByAll(_ path: String, name: String) -> ConfigurationProblem {
    ConfigurationProblem(
      name: name, place: "file \(path)", message: "can be written by everybody on this machine",
      allowed: "a file that its owner alone may write: chmod go-w \(path)")
  }

  private static func writing(into folder: String) -> String? {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      return "\(folder) is no folder"
    }
    return FileManager.default.isWritableFile(atPath: folder)
      ? nil : "this user may not write into the folder \(folder)"
  }

  private static func missingFolder(of path: String) -> String? {
    let folder = folder(of: path)
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder)
    return exists && isFolder.boolValue ? nil : "there is no folder \(folder)"
  }

  /// The folder that a path is in; `.` for a bare name.
  private static func folder(of path: String) -> String {
    let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }
}
