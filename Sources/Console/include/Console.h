#pragma once
#include <stddef.h>

/// A file of the console as it is served: its path from the root of the client port, its media type and its bytes.
typedef struct {
  const char *_Nonnull path;
  const char *_Nonnull mediaType;
  const unsigned char *_Nonnull bytes;
  size_t count;
} ConsoleFile;

/// The file at `index`, 0 to the number of files; NULL after the last. The files live as long as the process.
const ConsoleFile *_Nullable consoleFile(size_t index);
