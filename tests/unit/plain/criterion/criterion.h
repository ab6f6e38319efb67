/* SPDX-License-Identifier: MIT */
/*
 * As much of Criterion as the unit tests use, for ThreadSanitizer: Criterion itself
 * does not run under it.  Each test has a process of its own; TAP on stdout.  Each
 * test program includes this once.
 */
#ifndef KRCORE_PLAIN_CRITERION_H
#define KRCORE_PLAIN_CRITERION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct criterion_test_params {
	size_t size;
	void *params;
	size_t length;
};

struct plain_suite {
	const char *name;
	struct plain_suite *next;
	void (*init)(void);
	void (*fini)(void);
};

struct plain_test {
	const char *suite, *name;
	struct plain_test *next;
	void (*run)(void);
};

static struct plain_suite *plain_suites;
static struct plain_test *plain_tests;
static bool plain_is_failed;

static inline bool plain_check(bool is_true, const char *what, const char *file, int line)
{
	if (!is_true) {
		plain_is_failed = true;
		printf("# %s:%d: %s\n", file, line, what);
	}
	return is_true;
}

#define cr_expect(c, ...) ((void)plain_check((c), #c, __FILE__, __LINE__))
#define cr_assert(c, ...) (plain_check((c), #c, __FILE__, __LINE__) ? (void)0 : exit(1))
#define cr_expect_not(c, ...) cr_expect(!(c))
#define cr_expect_eq(a, b, ...) cr_expect((a) == (b))
#define cr_expect_neq(a, b, ...) cr_expect((a) != (b))
#define cr_expect_geq(a, b, ...) cr_expect((a) >= (b))
#define cr_expect_gt(a, b, ...) cr_expect((a) > (b))
#define cr_expect_leq(a, b, ...) cr_expect((a) <= (b))
#define cr_expect_lt(a, b, ...) cr_expect((a) < (b))
#define cr_expect_null(p, ...) cr_expect(!(p))
#define cr_expect_not_null(p, ...) cr_expect(!!(p))
#define cr_expect_str_eq(a, b, ...) cr_expect(!strcmp(a, b))
#define cr_expect_str_neq(a, b, ...) cr_expect(!!strcmp(a, b))
#define cr_expect_arr_eq(a, b, len, ...) cr_expect(!memcmp(a, b, len))
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b))
#define cr_assert_neq(a, b, ...) cr_assert((a) != (b))
#define cr_assert_not(c, ...) cr_assert(!(c))
#define cr_assert_geq(a, b, ...) cr_assert((a) >= (b))
#define cr_assert_gt(a, b, ...) cr_assert((a) > (b))
#define cr_assert_leq(a, b, ...) cr_assert((a) <= (b))
#define cr_assert_lt(a, b, ...) cr_assert((a) < (b))
#define cr_assert_not_null(p, ...) cr_assert(!!(p))

#define TestSuite(s, ...) \
	__attribute__((constructor)) static void plain_suite_##s(void) \
	{ \
		static struct plain_suite suite = { #s, NULL, __VA_ARGS__ }; \
		suite.next = plain_suites; \
		plain_suites = &suite; \
	} \
	extern int plain_semicolon

/* A constructor registers @run, and the function's body follows. */
#define PLAIN_TEST(s, n, run) \
	__attribute__((constructor)) static void plain_add_##s##_##n(void) \
	{ \
		static struct plain_test test = { #s, #n, NULL, run }; \
		test.next = plain_tests; \
		plain_tests = &test; \
	}

#define Test(s, n) \
	static void plain_##s##_##n(void); \
	PLAIN_TEST(s, n, plain_##s##_##n) \
	static void plain_##s##_##n(void)

#define cr_make_param_array(type, array, nr) \
	((struct criterion_test_params){ sizeof(type), array, nr })
#define ParameterizedTestParameters(s, n) \
	static struct criterion_test_params plain_params_##s##_##n(void)
#define ParameterizedTest(row, s, n) \
	static void plain_row_##s##_##n(row); \
	static void plain_##s##_##n(void) \
	{ \
		struct criterion_test_params p = plain_params_##s##_##n(); \
		for (size_t i = 0; i < p.length; i++) \
			plain_row_##s##_##n((void *)((char *)p.params + i * p.size)); \
	} \
	PLAIN_TEST(s, n, plain_##s##_##n) \
	static void plain_row_##s##_##n(row)

static inline void plain_run(const struct plain_test *t)
{
	const struct plain_suite *s = plain_suites;

	while (s && strcmp(s->name, t->suite))
		s = s->next;
	if (s && s->init)
		s->init();
	t->run();
	if (s && s->fini)
		s->fini();
	exit(plain_is_failed);
}

int main(void)
{
	int status, nr_failed = 0;

	for (struct plain_test *t = plain_tests; t; t = t->next) {
		fflush(stdout);
		if (!fork())
			plain_run(t);
		wait(&status);
		nr_failed += !!status;
		printf("%s - %s::%s\n", status ? "not ok" : "ok", t->suite, t->name);
	}
	return nr_failed > 0;
}

#endif
