/* h3rt.h is C: it compiles as C11 with all warnings on. */

#include <h3rt.h>

int h3HeaderInC(void);
int h3HeaderInC(void) {
  const h3rt_call call = {sizeof(call), NULL, 0, 0, NULL, NULL, 0};
  return h3rt_run(NULL, &call, NULL) == H3RT_FAILED;
}
