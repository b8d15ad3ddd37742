// What a build knows of itself. Package.swift defines both from the environment; empty where a build was not told.
#ifndef TIDEGATE_CBUILD_H
#define TIDEGATE_CBUILD_H
extern const char *const tidegate_commit;
extern const char *const tidegate_build_date;
#endif
