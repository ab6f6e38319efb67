// SPDX-License-Identifier: MIT
/*
 * line: append text and numbers to a line of bounded length.
 *
 * What does not fit is cut off.  Owns no memory; writes nothing anywhere.
 */
#include "line.h"

#include <errno.h>
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

/**
 * kr_line_add_errno() - append the name of an error
 * @line: the line
 * @error: errno value; one that socket() does not return shows as a number
 *
 * The C library's own names are too new for the programs that we may meet.
 *
 * Context: any, a signal handler included.
 */
void kr_line_add_errno(struct kr_line *line, int error)
{
	static const struct {
		int error;
		char name[16];
	} names[] = {
		{ EACCES, "EACCES" },
		{ EAFNOSUPPORT, "EAFNOSUPPORT" },
		{ EINVAL, "EINVAL" },
		{ EMFILE, "EMFILE" },
		{ ENFILE, "ENFILE" },
		{ ENOBUFS, "ENOBUFS" },
		{ ENOMEM, "ENOMEM" },
		{ EPERM, "EPERM" },
		{ EPROTONOSUPPORT, "EPROTONOSUPPORT" },
		{ ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].error == error) {
			kr_line_add(line, names[i].name);
			return;
		}
	}
	kr_line_add(line, "errno ");
	kr_line_add_number(line, (unsigned int)error);
}
