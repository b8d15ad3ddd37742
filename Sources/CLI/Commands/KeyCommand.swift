import ArgumentParser
import Gateway
import Settings

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "Make an API key: print it once, and the entry that admits it.",
    discussion: """
      Give the key to the client, and put the entry into the section access of the configuration, or of the file that
      keys-file names. The entry has only the key's hash, so nobody can read the key from it. Replace a lost key.

        tidegate key desk-1 symbols=kraken:* connections=5
        tidegate key --convert keys > keys.yaml      # a key file of lines, the older form
      """)

  @Argument(help: ArgumentHelp("The key's name; its connections are counted under it.", valueName: "name"))
  var name: String?
  @Argument(
    help: ArgumentHelp(
      "Its rules: channels= symbols= publish= subscriptions= requests-per-second= connections= expires=",
      valueName: "field=value"))
  var fields: [String] = []
  @Option(help: ArgumentHelp("Print a key file of the older form as YAML, and make no key.", valueName: "file"))
  var convert: String?

  func validate() throws {
    guard (name == nil) != (convert == nil) else { throw ValidationError("give a name, or --convert FILE") }
  }

  func run() throws {
    do throws(ConfigurationProblems) {
      if let convert {
        print(try KeyFile.converted(convert), terminator: "")
      } else if let name {
        let key = try NewKey(name: name, fields: fields)
        print(
          """
          The key, which is not shown again:
            \(key.text)
          Its entry in the configuration, or in the file that keys-file names:
          """)
        print(NewKey.section(of: [key]).split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
      }
    } catch {
      for problem in error.problems { printError("error: \(problem.description)") }
      throw ExitCode.validationFailure
    }
  }
}
