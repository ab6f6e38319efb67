// SPDX-License-Identifier: MIT
/*
 * test_line: text and numbers on a line, and its end.
 */
#include "line.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

static int is_text(const struct kr_line *line, const char *text)
{
	return line->len == strlen(text) && !memcmp(line->text, text, line->len);
}

Test(line, add__appends)
{
	struct kr_line line = { 0 };

	kr_line_add(&line, "socket ");
	kr_line_add(&line, "");
	kr_line_add(&line, "->");

	cr_expect(is_text(&line, "socket ->"));
}

Test(line, add__cuts_what_does_not_fit)
{
	struct kr_line line = { 0 };

	for (int i = 0; i < KR_LINE_MAX; i++)
		kr_line_add(&line, "abc");

	cr_expect_eq(line.len, KR_LINE_MAX);
	cr_expect_eq(line.text[0], 'a');
}

Test(line, add_number__decimal)
{
	struct kr_line line = { 0 };

	kr_line_add_number(&line, 0);
	kr_line_add(&line, " ");
	kr_line_add_number(&line, 1024);
	kr_line_add(&line, " ");
	kr_line_add_number(&line, UINT_MAX);

	cr_expect(is_text(&line, "0 1024 4294967295"));
}

Test(line, add_errno__name_or_number)
{
	struct kr_line line = { 0 };

	kr_line_add_errno(&line, EMFILE);
	kr_line_add(&line, " ");
	kr_line_add_errno(&line, EPROTONOSUPPORT);
	kr_line_add(&line, " ");
	kr_line_add_errno(&line, 4321);

	cr_expect(is_text(&line, "EMFILE EPROTONOSUPPORT errno 4321"));
}
