#include "CBuild.h"

#ifndef TIDEGATE_COMMIT
#define TIDEGATE_COMMIT ""
#endif
#ifndef TIDEGATE_BUILD_DATE
#define TIDEGATE_BUILD_DATE ""
#endif

const char *const tidegate_commit = TIDEGATE_COMMIT;
const char *const tidegate_build_date = TIDEGATE_BUILD_DATE;
