// SPDX-License-Identifier: MIT
/*
 * line: append text and numbers to a line of bounded length.
 *
 * What does not fit is cut off.  Owns no memory; writes nothing anywhere.
 */
#include "line.h"

#include <string.h>

/**
 * kr_line_add() - append text
 * @line: the line
 * @text: what to append; cut off where the line is full
 *
 * Context: any, a signal handler included.
 */
void kr_line_add(struct kr_line *line, const char *text)
{
	size_t room = KR_LINE_MAX - line->len;
	size_t len = strnlen(text, room);

	memcpy(line->text + line->len, text, len);
	line->len += len;
}

/**
 * kr_line_add_number() - append a number in decimal
 * @line: the line
 * @number: what to append
 *
 * Context: any, a signal handler included.
 */
void kr_line_add_number(struct kr_line *line, unsigned int number)
{
	char digits[3 * sizeof(number) + 1];
	char *first = digits + sizeof(digits) - 1;

	*first = '\0';
	do {
		*--first = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	kr_line_add(line, first);
}
