/* SPDX-License-Identifier: MIT */
/*
 * run_line: what the user of krcore-run asks for.
 *
 * Reads the command line and puts LD_PRELOAD together; does nothing, and says
 * nothing but getopt's own complaints.
 */
#ifndef KRCORE_RUN_LINE_H
#define KRCORE_RUN_LINE_H

#include <stdbool.h>

struct run_options {
	bool verbose;
	const char *fallback;	/* NULL: leave the environment's */
};

enum run_wish {
	RUN_COMMAND,		/* it starts at argv[optind] */
	RUN_HELP,
	RUN_VERSION,
	RUN_NO_COMMAND,
	RUN_BAD_FALLBACK,
	RUN_BAD_OPTION,		/* getopt has said so */
};

enum run_wish run_line_parse(struct run_options *opts, int argc, char **argv);
char *run_line_preload(const char *shim, const char *others);

#endif /* KRCORE_RUN_LINE_H */
