#!/usr/bin/env python3
"""Writes tidegate(1) from the program's own help.

Usage: manual.py TIDEGATE VERSION     (the built executable; the page goes to standard output)
"""

import json
import subprocess
import sys


def text(value):
    """Plain text as roff."""
    lines = (value or "").replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in lines)


def flags(argument):
    names = ["-" * (1 if name["kind"] == "short" else 2) + name["name"] for name in argument.get("names", [])]
    value = argument.get("valueName", "value")
    if argument["kind"] == "positional":
        return f"\\fI{text(value)}\\fR"
    shown = ", ".join(f"\\fB{text(name)}\\fR" for name in names)
    return shown if argument["kind"] == "flag" else f"{shown} \\fI{text(value)}\\fR"


def describe(command, path, out):
    name = " ".join([*path, command["commandName"]])
    if path:
        out.append(f".SS {text(name)}")
    if command.get("abstract"):
        out.append(text(command["abstract"]))
    if command.get("discussion"):
        out += [".PP", ".nf", text(command["discussion"]), ".fi"]
    for argument in command.get("arguments", []):
        if argument.get("shouldDisplay", True):
            out += [".TP", flags(argument), text(argument.get("abstract") or argument.get("discussion"))]
    for child in command.get("subcommands", []):
        if child["commandName"] != "help" and child.get("shouldDisplay", True):
            describe(child, [*path, command["commandName"]], out)


def main():
    program, version = sys.argv[1:]
    dump = json.loads(subprocess.run([program, "--experimental-dump-help"], capture_output=True, check=True).stdout)
    command = dump["command"]
    out = [f'.TH TIDEGATE 1 "" "tidegate {version}"', ".SH NAME", f"tidegate \\- {text(command['abstract'])}",
           ".SH SYNOPSIS", "\\fBtidegate\\fR \\fIcommand\\fR [\\fIarguments\\fR]", ".SH COMMANDS"]
    describe(command, [], out)
    out += [".SH FILES", ".TP", "/etc/tidegate/tidegate.yaml", "Settings of the service.",
            ".TP", "/usr/share/doc/tidegate/tidegate.example.yaml", "All settings with their defaults."]
    print("\n".join(out))


main()
