import ArgumentParser
import Gateway

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "Make an API key: print it once, and the line that lets it in.",
    discussion: """
      The key goes to the client, the line to the file that keys-file names. The line holds the key's hash only, so nobody can read the
      key from it; a lost key is replaced, not found.

        tidegate key desk-1 symbols=kraken:* connections=5
      """)

  @Argument(help: ArgumentHelp("Whose key it is; what the key's connections are counted by.", valueName: "name"))
  var name: String
  @Argument(
    help: ArgumentHelp(
      "What it may have: channels= symbols= subscriptions= requests-per-second= connections= expires=",
      valueName: "field=value"))
  var fields: [String] = []

  func run() throws {
    do throws(ConfigurationProblems) {
      let key = try NewKey(name: name, fields: fields)
      print(
        """
        The key, which is not shown again:
          \(key.text)
        The line for the key file:
          \(key.line)
        """)
    } catch {
      for problem in error.problems { printError("error: \(problem.description)") }
      throw ExitCode.validationFailure
    }
  }
}
