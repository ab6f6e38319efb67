/* SPDX-License-Identifier: MIT */
/*
 * reach: can a preloaded library take effect in a program?
 *
 * Looks at the program's file; runs nothing.
 */
#ifndef KRCORE_REACH_H
#define KRCORE_REACH_H

#include <limits.h>
#include <stdbool.h>

enum kr_reach {
	KR_REACH_YES,		/* as far as its file tells */
	KR_REACH_STATIC,	/* no dynamic loader, so no preloading */
	KR_REACH_GO,		/* system calls that bypass the C library */
	KR_REACH_FOREIGN,	/* 32-bit, or of another machine */
	KR_REACH_SETID,		/* the loader ignores LD_PRELOAD for it */
	KR_REACH_CAPS,		/* likewise, for its file capabilities */
};

struct kr_reach_report {
	enum kr_reach reach;
	char path[PATH_MAX];	/* the file that decided: a script's interpreter */
};

bool kr_reach_look(struct kr_reach_report *report, int fd);
int kr_reach_check(struct kr_reach_report *report, const char *path);
const char *kr_reach_text(enum kr_reach reach);

#endif /* KRCORE_REACH_H */
