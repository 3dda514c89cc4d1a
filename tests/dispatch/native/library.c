/* A library of nothing but dispatchers, to be called from Python. */

#include "dispatcher.c"
#include "builds.h"
