/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: the check, and taking the input apart. */
#ifndef KRCORE_FUZZ_H
#define KRCORE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Says which check it was, and ends. */
#define check(is_true) \
	((is_true) ? (void)0 : check_failed(#is_true, __FILE__, __LINE__))

__attribute__((noreturn))
static inline void check_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

/* What is left of the input; the end of it reads as zeros. */
struct input {
	const uint8_t *p;
	size_t len;
};

static inline uint8_t input_byte(struct input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->p++;
}

static inline uint64_t input_number(struct input *in, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | input_byte(in);
	return value;
}

/* A string of at most @room - 1 bytes, which ends at a newline or NUL. */
static inline char *input_string(struct input *in, char *text, size_t room)
{
	size_t len = 0;
	char c;

	while (in->len && (c = (char)input_byte(in)) && c != '\n')
		if (len + 1 < room)
			text[len++] = c;
	text[len] = '\0';
	return text;
}

#endif
