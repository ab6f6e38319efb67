/* SPDX-License-Identifier: MIT */
/*
 * line: one line of text, put together without stdio or memory allocation.
 *
 * So that the shim may speak from a signal handler or a child of fork().
 */
#ifndef KRCORE_LINE_H
#define KRCORE_LINE_H

#include <stddef.h>

enum { KR_LINE_MAX = 160 };

struct kr_line {
	size_t len;
	char text[KR_LINE_MAX];
};

void kr_line_add(struct kr_line *line, const char *text);
void kr_line_add_number(struct kr_line *line, unsigned int number);
void kr_line_add_errno(struct kr_line *line, int error);

#endif /* KRCORE_LINE_H */
